// What is written to the file in a widget's place.

const KEPT = Symbol.for("hermes_nb.kept");

// In JupyterLab and Notebook 7: what is written to the file has the static version in the widget's place, while the widget stays
// on the page. False where the front end has no such notebook model, or the server writes the file (collaboration).
export function keepStatic(model, source) {
  try {
    const context = model.widget_manager?.context, notebook = context?.model?.sharedModel;
    if (typeof notebook?.toJSON !== "function" || !Array.isArray(notebook.cells) || context.model.collaborative) return false;
    if (!notebook[KEPT]) {
      const kept = new Map(), write = notebook.toJSON.bind(notebook);
      notebook[KEPT] = kept;
      notebook.toJSON = () => {
        const written = write();
        try { for (const cell of written.cells ?? []) swapOutputs(cell, kept); } catch (error) { console.warn("hermes_nb:", error); }
        return written;
      };
    }
    notebook[KEPT].set(model.get("shown_as"), source);
    return true;
  } catch { return false; }
}

function swapOutputs(cell, kept) {
  const mime = "application/vnd.jupyter.widget-view+json";
  for (const output of Array.isArray(cell.outputs) ? cell.outputs : []) {
    const data = kept.get(output.data?.[mime]?.model_id)?.();
    if (data?.["text/html"]) output.data = { ...data };
  }
}
