import { Notification } from "@jupyterlab/apputils";
import type { CodeCell } from "@jupyterlab/cells";
import type { NotebookPanel } from "@jupyterlab/notebook";
import type { Kernel } from "@jupyterlab/services";

import type { KernelLink } from "./link";
import type { HermesModel } from "./model";
import type { IAnswer } from "./state";

const MAGIC = /^\s*%%?hermes\s/m;
const NAME_CHARS = 60;

/**
 * A page that is reloaded during a turn has an empty cell for ever: what the kernel sends afterwards, it sends to the page that
 * is gone. So the answer is offered, and a click puts it into the cell that asked.
 */
export class Recovery {
  constructor(readonly model: HermesModel) {
    model.changed.connect(this._look, this);
    this._look();
  }

  private _look(): void {
    const { notebook, link } = this.model;
    if (!notebook || !link) {
      return;
    }
    void notebook.context.ready.then(() => {
      if (notebook.isDisposed || link !== this.model.link) {
        return;
      }
      if (link.phase === "unknown" && !this._asked.has(link.kernel) && notebook.content.widgets.some(isEmpty)) {
        this._asked.add(link.kernel);
        void link.look();
      }
      for (const answer of link.state?.answers ?? []) {
        this._offer(notebook, link, answer);
      }
    });
  }

  private _offer(notebook: NotebookPanel, link: KernelLink, answer: IAnswer): void {
    const cell = notebook.content.widgets.find(one => one.model.id === answer.cell);
    if (this._known.has(answer.turn_id) || !cell) {
      return;
    }
    this._known.add(answer.turn_id); // one that has its output is never offered, also when that is cleared
    if (!isEmpty(cell)) {
      return;
    }
    const name = answer.prompt.length > NAME_CHARS ? `${answer.prompt.slice(0, NAME_CHARS - 1)}…` : answer.prompt;
    Notification.info(`The answer to “${name}” came while the page was reloaded.`, {
      autoClose: false,
      actions: [{ label: "Show answer", callback: () => void this._show(notebook, link, answer, cell as CodeCell) }],
    });
  }

  private async _show(notebook: NotebookPanel, link: KernelLink, answer: IAnswer, cell: CodeCell): Promise<void> {
    const data = await link.answer(answer.turn_id);
    if (!data || cell.isDisposed) {
      Notification.warning("The kernel does not tell the answer any more. Look for it with %hermes sessions.", {
        autoClose: 8000,
      });
      return;
    }
    cell.model.outputs.add({ output_type: "display_data", data, metadata: {} });
    notebook.content.activeCellIndex = notebook.content.widgets.indexOf(cell);
    await notebook.content.scrollToCell(cell);
  }

  private _asked = new WeakSet<Kernel.IKernelConnection>();
  private _known = new Set<string>();
}

/** Whether a cell that asks looks as if it never ran. */
function isEmpty(cell: { model: { type: string } }): boolean {
  const model = (cell as CodeCell).model;
  if (model.type !== "code" || !MAGIC.test(model.sharedModel.getSource())) {
    return false;
  }
  return model.outputs.length === 0 && model.executionCount === null && model.executionState !== "running";
}
