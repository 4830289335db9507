/** Collapsed outputs of ours say what they hold, live and saved. */

import { CodeCell } from "@jupyterlab/cells";

import { type Bundle, firstLine, summary } from "./summary";

const VIEW = "application/vnd.jupyter.widget-view+json";
// What widgets/src/shared/keep.js writes to the file in a widget's place, by the widget's id.
const KEPT = Symbol.for("hermes_nb.kept");

type Placeholder = { getOutputPlaceholderText(): string | undefined };
type Keeping = { [KEPT]?: Map<string, () => Bundle> } | null;

export function describeCollapsed(): void {
  const prototype = CodeCell.prototype as unknown as Placeholder;
  const before = prototype.getOutputPlaceholderText;
  if (typeof before !== "function") {
    return; // another version of JupyterLab: it has its own line
  }
  prototype.getOutputPlaceholderText = function (this: CodeCell & Placeholder) {
    const data = this.model.outputs.get(0)?.data as Bundle | undefined;
    const id = (data?.[VIEW] as { model_id?: string } | undefined)?.model_id;
    const kept = id && (this.model.sharedModel.notebook as Keeping)?.[KEPT]?.get(id)?.();
    return (kept ? (summary(kept) ?? firstLine(kept)) : summary(data)) ?? before.call(this);
  };
}
