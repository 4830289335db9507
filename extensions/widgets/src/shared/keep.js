// What is written to the file in a widget's place.

const KEPT = Symbol.for("hermes_nb.kept");

// In JupyterLab and Notebook 7: what is written to the file has the static version in the widget's place, while the widget stays
// on the page. False where the front end has no such notebook model, or the server writes the file (collaboration).
/**
 * @param {import("./protocol").Model} model
 * @param {() => import("./protocol").Bundle} source
 */
export function keepStatic(model, source) {
  try {
    const context = model.widget_manager?.context,
      notebook = context?.model?.sharedModel;
    if (typeof notebook?.toJSON !== "function" || !Array.isArray(notebook.cells) || context.model.collaborative)
      return false;
    if (!notebook[KEPT]) {
      const kept = new Map(),
        write = notebook.toJSON.bind(notebook);
      notebook[KEPT] = kept;
      notebook.toJSON = () => {
        const written = write();
        try {
          for (const cell of written.cells ?? []) swapOutputs(cell, kept);
          written.metadata = withoutState(written.metadata, kept);
        } catch (error) {
          console.warn("hermes_nb:", error);
        }
        return written;
      };
    }
    notebook[KEPT].set(model.get("shown_as"), source);
    return true;
  } catch {
    return false;
  }
}

function swapOutputs(cell, kept) {
  const mime = "application/vnd.jupyter.widget-view+json";
  for (const output of Array.isArray(cell.outputs) ? cell.outputs : []) {
    const data = kept.get(output.data?.[mime]?.model_id)?.();
    if (data?.["text/html"]) output.data = { ...data };
  }
}

// Where the front end saves the state of widgets, too: that of widgets whose place something static has is their whole code, for
// a reader who is shown none of it.
function withoutState(metadata, kept) {
  const mime = "application/vnd.jupyter.widget-state+json",
    held = metadata?.widgets?.[mime];
  if (!held?.state) return metadata;
  const isOurs = ([id, one]) => kept.has(id) || String(one.state?._anywidget_id ?? "").startsWith("hermes_nb.");
  const rest = Object.entries(held.state).filter(entry => !isOurs(entry));
  const { [mime]: _, ...others } = metadata.widgets;
  // Without a widget that has a place on a page, what is left are the layouts of ours.
  const widgets = rest.some(([, one]) => one.state?.layout)
    ? { ...others, [mime]: { ...held, state: Object.fromEntries(rest) } }
    : others;
  const { widgets: __, ...more } = metadata;
  return Object.keys(widgets).length ? { ...more, widgets } : more;
}
