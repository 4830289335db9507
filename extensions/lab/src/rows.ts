import type { Actions } from "./actions";
import { element, type IRow, Rows, setAttribute, setText } from "./dom";
import { ago, counted, lasted, tokens, word } from "./format";
import type { IAgent, INode, IRun, ITurn } from "./state";

/** How a row of each of the panel's lists looks, and what its buttons do. */

/** A button with words; `about` completes its name for those who hear it. */
class Button {
  readonly node: HTMLButtonElement;

  constructor(
    readonly label: string,
    act: () => void,
  ) {
    this.node = element("button", { type: "button", class: "hnb-button", onclick: act }, label);
  }

  about(text: string): void {
    setAttribute(this.node, "aria-label", `${this.label}: ${text}`);
  }

  show(isShown: boolean): void {
    this.node.hidden = !isShown;
  }
}

/** The frame of every row: a name, lines about it, buttons. */
class Frame {
  readonly node = element("li", { class: "hnb-row" });
  readonly name = element("div", { class: "hnb-name" });
  readonly about = element("div", { class: "hnb-about" });
  readonly buttons = element("div", { class: "hnb-buttons" });

  constructor(buttons: (Button | HTMLElement)[]) {
    this.buttons.append(...buttons.map(button => (button instanceof Button ? button.node : button)));
    this.node.append(this.name, this.about, this.buttons);
  }

  /** The lines about it; a title shows what is cut off. */
  say(name: string, about: string): void {
    setText(this.name, name);
    setAttribute(this.name, "title", name);
    setText(this.about, about);
  }
}

/** A turn that runs; its time goes on without the kernel saying so. */
export class TurnRow implements IRow<ITurn> {
  private _turn!: ITurn;
  private _stop: Button;
  private _show: Button;
  private _question = element("div", { class: "hnb-question" });
  private _frame: Frame;

  constructor(actions: Actions, stop: (turn: ITurn) => void) {
    this._stop = new Button("Stop", () => stop(this._turn));
    this._stop.node.classList.add("hnb-stop");
    this._show = new Button("Show cell", () => void actions.show(this._turn.cell ?? ""));
    this._frame = new Frame([this._stop, this._show]);
    this._frame.node.insertBefore(this._question, this._frame.buttons);
  }

  get node(): HTMLElement {
    return this._frame.node;
  }

  update(turn: ITurn): void {
    this._turn = turn;
    this.tick();
    const what = `${turn.agent}, ${turn.prompt}`;
    this._stop.about(what);
    this._show.about(what);
    this._stop.node.disabled = turn.status === "stopping";
    this._show.show(turn.cell !== null && /^[\w-]+$/.test(turn.cell));
    setText(this._question, turn.question ? `Waits for an answer in its cell: ${turn.question}` : "");
    this._question.hidden = !turn.question;
  }

  tick(): void {
    const turn = this._turn;
    const parts = [turn.agent, turn.tools.length ? `running ${turn.tools.join(", ")}` : turn.status];
    if (turn.started_unix_s !== null) {
      parts.push(lasted(Date.now() / 1000 - turn.started_unix_s));
    }
    if (turn.tokens !== null) {
      parts.push(tokens(turn.tokens));
    }
    this._frame.say(turn.prompt || turn.turn_id, parts.join(" · "));
  }
}

/** An agent of the notebook, bound or only declared. */
export function agentRow(actions: Actions): IRow<IAgent> {
  let agent: IAgent;
  const run = new Button("Run", () => void actions.run(agent.name));
  const promote = new Button("Promote", () => void actions.promote(agent.name));
  const frame = new Frame([run, promote]);
  return {
    node: frame.node,
    update: data => {
      agent = data;
      const model = [agent.model || "a model is chosen when it is bound", agent.provider && `(${agent.provider})`];
      frame.say(
        agent.name + (agent.is_default ? " (default)" : ""),
        [
          model.filter(Boolean).join(" "),
          agent.n_tools ? counted(agent.n_tools, "tool") : "no tools",
          agent.is_bound ? "" : "not bound yet",
        ]
          .filter(Boolean)
          .join(" · "),
      );
      run.about(agent.name);
      promote.about(`${agent.name} to Flyte`);
    },
  };
}

/** A session, and its forks in a list of its own. */
export function sessionRow(actions: Actions): IRow<INode> {
  let id = "";
  const open = new Button("Open", () => void actions.open(id));
  const goOn = new Button("Continue", () => void actions.goOn(id));
  const resume = new Button("Resume", () => void actions.resume(id));
  const frame = new Frame([open, goOn, resume]);
  const list = element("ul", { class: "hnb-list hnb-forks", "aria-label": "Forks" });
  const forks = new Rows<INode>(
    list,
    node => node.session.session_id,
    () => sessionRow(actions),
  );
  frame.node.append(list);
  return {
    node: frame.node,
    update: ({ session, forks: below }) => {
      id = session.session_id;
      const title = session.title || id;
      const last = session.is_running ? "running now" : session.is_unfinished ? "last turn unfinished" : "";
      frame.say(
        title,
        [
          session.agent,
          counted(session.n_turns, "turn"),
          tokens(session.input_tokens, session.output_tokens),
          session.cost,
          ago(session.last_used_unix_s),
          last,
        ]
          .filter(Boolean)
          .join(" · "),
      );
      setAttribute(frame.about, "title", `Session ${id}`);
      [open, goOn, resume].forEach(button => button.about(title));
      resume.show(session.is_unfinished);
      list.hidden = !below.length;
      forks.update(below);
    },
  };
}

/** A run on Flyte, as it was last heard of. */
export function runRow(actions: Actions): IRow<IRun> {
  let run: IRun;
  const link = element("a", { class: "hnb-button", target: "_blank", rel: "noopener noreferrer" }, "Open");
  const bring = new Button("Bring back", () => void actions.resume(run.run));
  const frame = new Frame([link, bring]);
  return {
    node: frame.node,
    update: data => {
      run = data;
      frame.say(run.run, [run.phase, run.agent, ago(run.at_unix_s)].filter(Boolean).join(" · "));
      const address = webAddress(run.url);
      link.hidden = !address;
      setAttribute(link, "href", address);
      setAttribute(link, "aria-label", `Open: run ${run.run} in Flyte, in a new tab`);
      bring.about(`run ${word(run.run)}`);
    },
  };
}

/** The address, if it is one of the web; a control plane's text is not trusted to be. */
function webAddress(text: string): string {
  try {
    const url = new URL(text);
    return ["http:", "https:"].includes(url.protocol) ? url.href : "";
  } catch {
    return "";
  }
}
