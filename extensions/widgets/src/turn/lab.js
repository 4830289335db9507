// What JupyterLab and Notebook 7 offer beyond widgets: the notebook's cells, and what becomes of the kernel.

const VIEW = "application/vnd.jupyter.widget-view+json";

// Puts code into a new cell below the one that shows the widget. False where the front end has no such notebook model.
/**
 * @param {import("../shared/protocol").Model} model
 */
export function inserter(model) {
  const notebook = () => model.widget_manager?.context?.model?.sharedModel;
  if (typeof notebook()?.insertCell !== "function") return null;
  return code => {
    try {
      const shared = notebook(),
        shownAs = model.get("shown_as");
      const at = shared.cells.findIndex(
        cell => cell.cell_type === "code" && cell.toJSON().outputs?.some(o => o.data?.[VIEW]?.model_id === shownAs),
      );
      if (at < 0) return false;
      shared.insertCell(at + 1, { cell_type: "code", source: code, metadata: {} });
      return true;
    } catch (error) {
      console.warn("hermes_nb:", error);
      return false;
    }
  };
}

// Takes away the error that a turn left below its widget: another turn has taken its place and went well. Other errors stay.
/**
 * @param {import("../shared/protocol").Model} model
 */
export function errorRemover(model) {
  return () => {
    try {
      const shownAs = model.get("shown_as");
      for (const cell of model.widget_manager?.context?.model?.sharedModel?.cells ?? []) {
        if (cell.cell_type !== "code" || typeof cell.updateOutputs !== "function") continue;
        const outputs = cell.toJSON().outputs ?? [],
          shown = outputs.findIndex(o => o.data?.[VIEW]?.model_id === shownAs);
        for (let at = outputs.length - 1; shown >= 0 && at > shown; at--)
          if (outputs[at].output_type === "error" && /^Turn\w*Error$/.test(outputs[at].ename))
            cell.updateOutputs(at, at + 1, []);
      }
    } catch (error) {
      console.warn("hermes_nb:", error);
    }
  };
}

// Sets a formula as the front end sets those of Markdown cells, when it is on the page. Undefined where it sets none.
/**
 * @param {import("../shared/protocol").Model} model
 * @returns {((formula: Element) => void) | undefined}
 */
export function typesetter(model) {
  const latex = model.widget_manager?.rendermime?.latexTypesetter;
  if (typeof latex?.typeset !== "function") return undefined;
  return formula => requestAnimationFrame(() => latex.typeset(formula));
}

// Calls `gone` when the kernel that made the widget is no more; returns what ends the watch.
/**
 * @param {import("../shared/protocol").Model} model
 * @param {() => void} gone
 */
export function watchKernel(model, gone) {
  const ends = [];
  try {
    const session = model.widget_manager?.context?.sessionContext;
    const id = session?.session?.kernel?.id;
    const onStatus = (_, status) => {
      if (["restarting", "autorestarting", "dead", "terminating"].includes(status)) gone();
    };
    const onKernel = (_, change) => {
      if (!change.newValue || change.newValue.id !== id) gone();
    };
    session?.statusChanged?.connect(onStatus);
    session?.kernelChanged?.connect(onKernel);
    ends.push(() => {
      session?.statusChanged?.disconnect(onStatus);
      session?.kernelChanged?.disconnect(onKernel);
    });
  } catch {
    /* another front end */
  }
  return () => ends.forEach(end => end());
}
