import { InputDialog, Notification } from "@jupyterlab/apputils";
import { NotebookActions, type NotebookPanel } from "@jupyterlab/notebook";

import { word } from "./format";
import { after } from "./link";
import type { HermesModel } from "./model";
import type { IAgent, IState } from "./state";

export const LOAD = "%load_ext hermes_nb";
const LOOK_MS = 2500;
const SOON_MS = 5000;
const GROWN_MS = 500;
const MAGIC = /^\s*%%?hermes(\s|$)/;

/** What buttons and commands do: each puts a line into a cell that people can read, run again and learn from. */
export class Actions {
  constructor(readonly model: HermesModel) {}

  /** Runs the current cell if it is of `%hermes`, else offers one to write a question in. */
  async run(agent?: string): Promise<void> {
    const notebook = this.model.notebook;
    if (!notebook) {
      return;
    }
    const cell = notebook.content.activeCell;
    if (agent === undefined && cell && MAGIC.test(cell.model.sharedModel.getSource())) {
      await NotebookActions.run(notebook.content, notebook.sessionContext);
      return;
    }
    const state = await this._loaded(notebook);
    const chosen = agent ?? preferred(state)?.name;
    await insert(notebook, `%%hermes run${chosen ? ` -a ${word(chosen)}` : ""}\n`, false);
  }

  /** A cell in which a conversation goes on. */
  async goOn(sessionId: string): Promise<void> {
    await this._insert(`%%hermes run -s ${word(sessionId)}\n`, false);
  }

  /** What happened in a session. */
  async open(sessionId: string): Promise<void> {
    await this._insert(`%hermes timeline ${word(sessionId)}`, true);
  }

  /** Goes on with a session's last turn, or brings a run of Flyte back. */
  async resume(id: string): Promise<void> {
    await this._insert(`%hermes resume ${word(id)}`, true);
  }

  /** Shows what stands between an agent and Flyte. */
  async promote(agent?: string): Promise<void> {
    const notebook = this.model.notebook;
    if (!notebook) {
      return;
    }
    const state = await this._loaded(notebook);
    const chosen = agent ?? (await choose(state));
    if (chosen) {
      await insert(notebook, `%hermes promote ${word(chosen)} ${state?.has_forms ? "--ui" : "--dry-run"}`, true);
    }
  }

  /** Opens the form that makes an agent, and its code. */
  async make(): Promise<void> {
    await this._insert("%hermes agent --ui", true);
  }

  /** Loads hermes_nb in the kernel, by a cell. */
  async load(): Promise<void> {
    await this._insert(LOAD, true);
  }

  /** Shows a cell by its id; false when the notebook has none of it. */
  async show(cellId: string): Promise<boolean> {
    const content = this.model.notebook?.content;
    const place = content?.widgets.findIndex(cell => cell.model.id === cellId) ?? -1;
    if (!content || place < 0) {
      return false;
    }
    content.activeCellIndex = place;
    await content.scrollToItem(place);
    content.activate();
    return true;
  }

  private async _insert(source: string, runs: boolean): Promise<void> {
    const notebook = this.model.notebook;
    if (notebook) {
      await insert(notebook, source, runs);
    }
  }

  /** The kernel's state, hermes_nb loaded by a cell when it was not; null when the kernel does not tell. */
  private async _loaded(notebook: NotebookPanel): Promise<IState | null> {
    const link = this.model.link;
    if (!link) {
      Notification.warning("This notebook has no kernel yet. Choose one first.", { autoClose: 5000 });
      return null;
    }
    if (link.phase !== "open") {
      await Promise.race([link.look(), after(LOOK_MS, undefined)]); // a busy kernel without subshells says nothing
    }
    if (link.phase === "unloaded") {
      await insert(notebook, LOAD, true);
      await link.look();
    }
    return link.told();
  }
}

/** The agent that is asked when nobody says which: the default one, the only one, else none. */
function preferred(state: IState | null): IAgent | undefined {
  const agents = state?.agents ?? [];
  return agents.find(agent => agent.is_default) ?? (agents.length === 1 ? agents[0] : undefined);
}

async function choose(state: IState | null): Promise<string | null> {
  const agents = state?.agents ?? [];
  if (!agents.length) {
    Notification.info(
      'There is no agent in this notebook yet. Make one in a cell first, e.g. analyst = Agent("analyst", ...).',
      { autoClose: 8000 },
    );
    return null;
  }
  const only = preferred(state);
  if (only) {
    return only.name;
  }
  const answer = await InputDialog.getItem({
    title: "Promote which agent to Flyte?",
    label: "Agent",
    items: agents.map(agent => agent.name),
    okLabel: "Look",
  });
  return answer.button.accept ? answer.value : null;
}

/** Puts a code cell below the current one; runs it, or leaves the cursor at its end. */
async function insert(notebook: NotebookPanel, source: string, runs: boolean): Promise<void> {
  const { content, sessionContext } = notebook;
  NotebookActions.insertBelow(content);
  if (content.activeCell?.model.type !== "code") {
    NotebookActions.changeCellType(content, "code");
  }
  content.activeCell?.model.sharedModel.setSource(source);
  await content.scrollToItem(content.activeCellIndex);
  if (runs) {
    const cell = content.activeCell;
    const beganMs = Date.now();
    await NotebookActions.run(content, sessionContext);
    if (Date.now() - beganMs < SOON_MS) {
      // What it shows has grown below the fold; whoever has gone elsewhere is left there.
      window.setTimeout(() => {
        if (cell && content.activeCell === cell) {
          void content.scrollToItem(content.activeCellIndex, "start");
        }
      }, GROWN_MS);
    }
    return;
  }
  content.activate();
  content.mode = "edit";
  const editor = content.activeCell?.editor;
  if (editor) {
    editor.setCursorPosition(editor.getPositionAt(source.length) ?? { line: 0, column: 0 });
    editor.focus();
  }
}
