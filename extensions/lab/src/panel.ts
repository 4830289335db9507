import type { Message } from "@lumino/messaging";
import { Widget } from "@lumino/widgets";

import { type Actions, LOAD } from "./actions";
import { element, type IRow, Rows, setText } from "./dom";
import { counted } from "./format";
import type { HermesModel } from "./model";
import { agentRow, runRow, sessionRow, TurnRow } from "./rows";
import { type IAgent, type INode, type IRun, type IState, type ITurn, tree } from "./state";

const TICK_MS = 1000;
const TICKS_OF_AGES = 30;
const HEARD_MS = 2000;

/** A list under a heading that opens and closes, with a sentence for when it is empty. */
class Section<T> {
  readonly node: HTMLElement;
  readonly list = element("ul", { class: "hnb-list" });
  readonly empty: HTMLElement;
  private _count = element("span", { class: "hnb-count" });
  private _rows: Rows<T>;

  constructor(title: string, emptyText: string, key: (data: T) => string, make: () => IRow<T>) {
    this.empty = element("p", { class: "hnb-empty" }, emptyText);
    this.node = element(
      "details",
      { open: true, class: "hnb-section" },
      element("summary", {}, element("h3", {}, title), this._count),
      this.empty,
      this.list,
    );
    this._rows = new Rows(this.list, key, make);
  }

  /** Shows these; `n` counts what is inside them, too. */
  update(all: T[], n = all.length): void {
    this._rows.update(all);
    setText(this._count, n ? String(n) : "");
    this.list.hidden = !all.length;
    this.empty.hidden = !!all.length;
  }
}

/** The side panel: what the current notebook's kernel has of Hermes. */
export class HermesPanel extends Widget {
  constructor(
    readonly model: HermesModel,
    readonly actions: Actions,
  ) {
    super();
    this.id = "hermes-nb-panel";
    this.addClass("hnb-panel");
    this.node.setAttribute("role", "region");
    this.node.setAttribute("aria-label", "Hermes");
    this._turns = new Section<ITurn>(
      "Running turns",
      "No turn is running.",
      turn => turn.turn_id,
      () => {
        const row = new TurnRow(actions, turn => this._stop(turn));
        this._ticking.add(row);
        return row;
      },
    );
    this._agents = new Section<IAgent>(
      "Agents",
      'No agent yet. Make one in a cell: analyst = Agent("analyst", ...).',
      agent => agent.name,
      () => agentRow(actions),
    );
    this._sessions = new Section<INode>(
      "Sessions",
      "No session yet. The first %hermes run starts one.",
      node => node.session.session_id,
      () => sessionRow(actions),
    );
    this._runs = new Section<IRun>(
      "Flyte runs",
      "No run on Flyte yet.",
      run => run.run,
      () => runRow(actions),
    );
    this._lists.append(this._turns.node, this._agents.node, this._sessions.node, this._runs.node);
    this._agents.node.append(this._make);
    this._make.addEventListener("click", () => void actions.make());
    this._load.addEventListener("click", () => void actions.load());
    this._refresh.addEventListener("click", () => void this.model.link?.refresh());
    this._guide.append(this._guideText, this._code, this._load);
    this.node.append(
      element("div", { class: "hnb-top" }, element("h2", {}, "Hermes"), this._refresh),
      this._where,
      this._status,
      this._alert,
      this._guide,
      this._lists,
    );
    model.changed.connect(this._update, this);
    this._update();
  }

  protected onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this.model.isWatched = true;
    this._timer ||= window.setInterval(() => this._tick(), TICK_MS);
    this._update();
  }

  protected onAfterHide(message: Message): void {
    super.onAfterHide(message);
    this.model.isWatched = false;
    window.clearInterval(this._timer);
    this._timer = 0;
  }

  protected onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    if (this.isVisible) {
      this.onAfterShow(message);
    }
  }

  private _update(): void {
    const { notebook, link } = this.model;
    const state = link?.phase === "open" ? link.state : null;
    setText(this._where, notebook ? notebook.context.path : "");
    this._where.hidden = !notebook;
    const guide = guideFor(!!notebook, link?.phase ?? null);
    setText(this._guideText, guide);
    this._guide.hidden = !!state || !guide;
    this._code.hidden = this._load.hidden = link?.phase !== "unloaded";
    this._refresh.hidden = !link || link.phase === "foreign";
    this._lists.hidden = !state;
    this._say(link?.error ?? "");
    if (state) {
      this._show(state);
    } else {
      setText(this._status, "");
      this._nTurns = 0;
    }
  }

  private _show(state: IState): void {
    this._turns.update(state.turns);
    this._agents.update(state.agents);
    this._make.hidden = !state.has_forms;
    this._sessions.update(tree(state.sessions), state.sessions.length);
    this._runs.update(state.runs);
    const n = state.turns.length;
    // Said aloud, so only when it changes.
    if (n !== this._nTurns) {
      setText(this._status, n ? `${counted(n, "turn")} running.` : "The turn has ended.");
      this._nTurns = n;
    }
    if (!state.turns.some(turn => turn.turn_id === this._stopped)) {
      this._stopped = "";
    }
  }

  private _stop(turn: ITurn): void {
    const link = this.model.link;
    if (!link) {
      return;
    }
    this._stopped = turn.turn_id;
    link.stop(turn.turn_id);
    // A kernel without subshells hears it when the cell is over: then the stop square is the one that works.
    window.setTimeout(() => {
      const now = link.state?.turns.find(other => other.turn_id === turn.turn_id);
      if (this._stopped === turn.turn_id && now && now.status !== "stopping") {
        this._say("The kernel is busy and has not heard the stop yet. The stop square of the toolbar works at once.");
      }
    }, HEARD_MS);
  }

  private _say(problem: string): void {
    setText(this._alert, problem);
    this._alert.hidden = !problem;
  }

  private _tick(): void {
    this._nTicks += 1;
    if (this._nTicks % TICKS_OF_AGES === 0) {
      this._update(); // `just now` becomes `1 minute ago`
    }
    for (const row of this._ticking) {
      if (row.node.isConnected) {
        row.tick();
      } else {
        this._ticking.delete(row);
      }
    }
  }

  private _where = element("p", { class: "hnb-where" });
  private _status = element("p", { class: "hnb-status", role: "status" });
  private _alert = element("p", { class: "hnb-alert", role: "alert", hidden: true });
  private _guide = element("div", { class: "hnb-guide" });
  private _guideText = element("p");
  private _code = element("code", {}, LOAD);
  private _load = element("button", { type: "button", class: "hnb-button" }, "Load hermes_nb");
  private _make = element("button", { type: "button", class: "hnb-button hnb-make" }, "New agent");
  private _refresh = element("button", { type: "button", class: "hnb-button" }, "Refresh");
  private _lists = element("div", { class: "hnb-lists" });
  private _turns: Section<ITurn>;
  private _agents: Section<IAgent>;
  private _sessions: Section<INode>;
  private _runs: Section<IRun>;
  private _ticking = new Set<TurnRow>();
  private _timer = 0;
  private _nTicks = 0;
  private _nTurns = 0;
  private _stopped = "";
}

/** What to do when there is nothing to show yet. */
function guideFor(hasNotebook: boolean, phase: string | null): string {
  if (!hasNotebook) {
    return "Open a notebook to see its agents, sessions and runs.";
  }
  switch (phase) {
    case null:
      return "This notebook has no kernel. Choose one to see its agents, sessions and runs.";
    case "foreign":
      return "hermes_nb works in Python kernels. This notebook uses another language.";
    case "unloaded":
      return "hermes_nb is not loaded in this notebook’s kernel. Load it with a cell:";
    case "open":
      return "";
    default:
      return "Waiting for the kernel …";
  }
}
