// What Python and the front end hand to widgets, and what widgets hand back. Types alone: nothing of it is in a bundle.

/** The model of anywidget, with what JupyterLab's and Notebook's manager has beside it. */
export interface Model {
  get(name: string): any;
  on(event: string, hear: (...parts: any[]) => void): void;
  off(event: string, hear: (...parts: any[]) => void): void;
  send(message: Message): void;
  widget_manager?: { context?: any; rendermime?: any };
}

/** A message; `t` says which one. */
export interface Message {
  t: string;
  [name: string]: any;
}

/** A form of a widget by MIME type. */
export type Bundle = Record<string, string>;

/** What the kernel said of something that was asked for. */
export interface Said {
  ok: boolean;
  text: string;
}

export type Status = "queued" | "running" | "ok" | "error" | "stopped" | "timed_out" | "killed";

/** What a turn says of itself: `TurnModel.head` of `hermes_nb/widgets/_turn_model.py`. */
export interface Head {
  status: Status;
  agent: string;
  began: number;
  doing: string;
  word: string;
  done?: string;
  line: string;
  models?: Detail | null;
  prompt?: string;
}

/** A question that waits for a person. */
export interface Ask {
  id: string;
  approval: boolean;
  name: string;
  question: string;
  arguments: string;
  choices: string[];
}

/** A row: `Step` of `hermes_nb/views/_steps.py`. */
export interface Step {
  kind: string;
  state?: string;
  icon?: string;
  call?: string;
  summary?: string;
  duration?: string;
  depth?: number;
  is_code?: boolean;
  details?: Detail[];
  steps?: Step[];
  began?: number;
  url?: string;
  has_more?: boolean;
}

/** An item of a turn: a row, prose, or a question. */
export interface Item extends Step {
  text?: string;
  output?: string;
  open?: boolean;
  pictures?: string[];
  ask?: Ask;
}

/** What a row opens to: a text, a table or pairs; `rest` counts what is left out. */
export interface Detail {
  label: string;
  text?: string;
  runs?: [string, string][];
  rest?: number;
  columns?: string[];
  rows?: string[][];
  pairs?: [string, string][];
}

/** Items by name; asked only for names that are there. */
export type Items = Omit<Map<string, Item>, "get"> & { get(name: string): Item };

/** A turn as it is told whole. */
export interface Told {
  id: string;
  head: Head;
  items: [name: string, item: Item][];
  now: number;
}

/** A change of a turn. */
export type Operation =
  | ["head", Partial<Head>]
  | ["put", name: string, at: number, item: Item]
  | ["set", name: string, changes: Record<string, unknown>]
  | ["add", name: string, key: "text" | "output" | "call", text: string]
  | ["del", name: string];

/** What a turn's view may ask of who holds it. */
export interface TurnHost {
  act(message: Record<string, unknown>): Promise<Said>;
  insert: ((code: string) => boolean) | null;
  typeset?: (formula: Element) => void;
  isDead(): boolean;
  fetch(turn: string, name: string): void;
  mayPromote?(): boolean;
  inChat?: boolean;
}

/** What a row may ask of its turn. */
export interface RowHost {
  act(message: Record<string, unknown>): Promise<Said>;
  insert: ((code: string) => boolean) | null;
  typeset?: (formula: Element) => void;
  isDead(): boolean;
  fetch(name: string): void;
}

/** What is told with the timeline's records: `hermes_nb/widgets/_columns.py`. */
export interface LogHead {
  names: string[];
  now: number;
  live?: boolean;
}

/** A lane of the timeline: items are places in `shown`. */
export interface Lane {
  label: string;
  owner: string;
  place: number;
  items: number[];
  busy: number;
  agent?: number;
  name?: number;
  first?: number;
  index?: number;
  n?: number;
}

/** A stretch without a long idle gap, and where it begins on the axis. */
export interface Block {
  start: number;
  end: number;
  x: number;
}

/** Where everything is that a timeline shows. */
export interface Layout {
  shown: Uint32Array;
  blocks: Block[];
  width: number;
  x0: Float64Array;
  x1: Float64Array;
  origin: number;
  lanes: Lane[];
  rows: { lane: Lane; items: Uint32Array; reach: Float64Array }[];
  rowOf: Int32Array;
}
