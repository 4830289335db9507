/** What a kernel's hermes_nb tells: the keys of `hermes_nb/magics/_panel.py`. */

export interface IAgent {
  name: string;
  model: string;
  provider: string;
  n_tools: number;
  is_bound: boolean;
  is_default: boolean;
  session_id: string | null;
}

export interface ITurn {
  turn_id: string;
  agent: string;
  session_id: string;
  status: string;
  prompt: string;
  started_unix_s: number | null;
  tokens: number | null;
  tools: string[];
  question: string | null;
  cell: string | null;
}

/** A turn that is over, and the cell that asked. */
export interface IAnswer {
  turn_id: string;
  cell: string;
  prompt: string;
}

export interface ISession {
  session_id: string;
  depth: number;
  title: string;
  agent: string;
  n_turns: number;
  input_tokens: number | null;
  output_tokens: number | null;
  cost: string;
  last_used_unix_s: number | null;
  is_running: boolean;
  is_unfinished: boolean;
}

export interface IRun {
  run: string;
  agent: string;
  session_id: string;
  phase: string;
  url: string;
  at_unix_s: number | null;
}

export interface IState {
  v: number;
  version: string;
  is_open: boolean;
  agents: IAgent[];
  turns: ITurn[];
  answers?: IAnswer[];
  sessions: ISession[];
  runs: IRun[];
  has_forms: boolean;
}

/** A session with the forks below it. */
export interface INode {
  session: ISession;
  forks: INode[];
}

/** The tree of a list in which forks stand right behind their parents, each one deeper. */
export function tree(sessions: ISession[]): INode[] {
  const roots: INode[] = [];
  const path: INode[] = [];
  for (const session of sessions) {
    const node = { session, forks: [] };
    path.length = Math.min(path.length, session.depth);
    (path.length ? path[path.length - 1].forks : roots).push(node);
    path.push(node);
  }
  return roots;
}
