import { Compartment, type Extension, Prec, RangeSetBuilder } from "@codemirror/state";
import { Decoration, type DecorationSet, type EditorView, ViewPlugin, type ViewUpdate } from "@codemirror/view";
import {
  EditorExtensionRegistry,
  type IEditorExtensionRegistry,
  type IEditorLanguageRegistry,
} from "@jupyterlab/codemirror";

const HEAD = /^\s*%%hermes(?=\s|$)/;
const OPTION = /(?<=\s)--?[A-Za-z][\w-]*/g;
const VARIABLE = /\\?\{\{[^{}\n]*\}\}/g;
const FORMAT = /\s--format(\s|$)/;

const head = Decoration.line({ class: "hnb-head" });
const magic = Decoration.mark({ class: "hnb-magic" });
const option = Decoration.mark({ class: "hnb-option" });
const variable = Decoration.mark({ class: "hnb-variable" });

/**
 * Shows cells that begin with `%%hermes` as Markdown, with their options and `{{variables}}` marked.
 *
 * The cell stays a code cell of the kernel's language: completion, tooltips and running are as before. Setting the model's
 * MIME type instead would lose a race, since the editor loads both languages and the last to arrive wins; so a language is
 * added that outranks the editor's own.
 */
export function addCells(
  extensions: IEditorExtensionRegistry,
  languages: IEditorLanguageRegistry,
  isWanted: Promise<boolean>,
): void {
  const markdown = isWanted.then(async wanted => (wanted && (await languages.getLanguage("ipythongfm"))?.support) || []);
  extensions.addExtension({
    name: "hermes-nb:cells",
    factory: options =>
      options.inline && options.model.mimeType !== "text/x-ipythongfm"
        ? EditorExtensionRegistry.createImmutableExtension(hermesCell(markdown))
        : null,
  });
}

function hermesCell(markdown: Promise<Extension>): Extension {
  const language = new Compartment();
  const plugin = ViewPlugin.fromClass(
    class {
      isHermes = false;
      decorations: DecorationSet = Decoration.none;

      constructor(readonly view: EditorView) {
        this.look();
      }

      update(update: ViewUpdate): void {
        if (update.docChanged || update.viewportChanged) {
          this.look();
        }
      }

      look(): void {
        const isHermes = HEAD.test(this.view.state.doc.line(1).text);
        this.decorations = isHermes ? decorate(this.view) : Decoration.none;
        if (isHermes === this.isHermes) {
          return;
        }
        this.isHermes = isHermes;
        // Not within an update of the view; and what is typed meanwhile may have changed it again.
        void markdown.then(support => {
          const wanted = this.isHermes ? Prec.highest(support) : [];
          if (language.get(this.view.state) !== wanted) {
            this.view.dispatch({ effects: language.reconfigure(wanted) });
          }
        });
      }
    },
    { decorations: value => value.decorations },
  );
  return [language.of([]), plugin];
}

function decorate(view: EditorView): DecorationSet {
  const { doc } = view.state;
  const first = doc.line(1);
  const builder = new RangeSetBuilder<Decoration>();
  builder.add(0, 0, head);
  const name = HEAD.exec(first.text);
  if (name) {
    builder.add(0, name[0].length, magic);
    for (const match of first.text.matchAll(OPTION)) {
      builder.add(match.index, match.index + match[0].length, option);
    }
  }
  if (FORMAT.test(first.text)) {
    for (const { from, to } of view.visibleRanges) {
      const start = Math.max(from, first.to);
      for (const match of doc.sliceString(start, to).matchAll(VARIABLE)) {
        if (!match[0].startsWith("\\")) {
          builder.add(start + match.index, start + match.index + match[0].length, variable);
        }
      }
    }
  }
  return builder.finish();
}
