import { ILayoutRestorer, type JupyterFrontEnd, type JupyterFrontEndPlugin } from "@jupyterlab/application";
import { ICommandPalette, IToolbarWidgetRegistry } from "@jupyterlab/apputils";
import { IEditorExtensionRegistry, IEditorLanguageRegistry } from "@jupyterlab/codemirror";
import { INotebookTracker } from "@jupyterlab/notebook";
import { ISettingRegistry } from "@jupyterlab/settingregistry";
import { CommandToolbarButton, LabIcon } from "@jupyterlab/ui-components";

import { Actions } from "./actions";
import { addCells } from "./cells";
import { describeCollapsed } from "./collapsed";
import { HermesModel } from "./model";
import { HermesPanel } from "./panel";
import { Recovery } from "./recovery";

const ID = "hermes-nb:plugin";
const CATEGORY = "Hermes";
const NO_ARGUMENTS = { args: { type: "object", properties: {} } };

// An H with the wing of Hermes's sandal.
const icon = new LabIcon({
  name: "hermes-nb:wing",
  svgstr:
    '<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 24 24"><path class="jp-icon3" ' +
    'fill="#616161" d="M3 4h3v6.5h6V4h3v16h-3v-6.5H6V20H3zM17 4c1 3 3 4.500 5 5-1.500 1-3.500 1-5 .5zM17 11c.8 2 2.200 3 ' +
    '4 3.500-1.200.7-2.800.6-4 .2z"/></svg>',
});

/** Toolbar buttons, side panel, commands, and the look of `%%hermes` cells. */
const plugin: JupyterFrontEndPlugin<void> = {
  id: ID,
  description: "Buttons, side panel and %%hermes cells of hermes_nb.",
  autoStart: true,
  requires: [INotebookTracker, IEditorExtensionRegistry, IEditorLanguageRegistry],
  optional: [ICommandPalette, ILayoutRestorer, IToolbarWidgetRegistry, ISettingRegistry],
  activate: (
    app: JupyterFrontEnd,
    tracker: INotebookTracker,
    extensions: IEditorExtensionRegistry,
    languages: IEditorLanguageRegistry,
    palette: ICommandPalette | null,
    restorer: ILayoutRestorer | null,
    toolbars: IToolbarWidgetRegistry | null,
    settings: ISettingRegistry | null,
  ) => {
    const { commands, shell } = app;
    describeCollapsed();
    const model = new HermesModel(tracker);
    const actions = new Actions(model);
    new Recovery(model);
    const panel = new HermesPanel(model, actions);
    panel.title.icon = icon;
    panel.title.caption = "Hermes: agents, sessions and runs";
    shell.add(panel, "left", { rank: 600, type: "Hermes" });
    restorer?.add(panel, panel.id);

    const isEnabled = () => !!tracker.currentWidget;
    const entries: [string, string, string, () => Promise<void> | void][] = [
      ["hermes:run", "Run agent", "Run this %%hermes cell, or write a question to an agent", () => actions.run()],
      ["hermes:promote", "Promote to Flyte", "Show what it takes to run an agent on Flyte", () => actions.promote()],
      ["hermes:load", "Load hermes_nb", "Load hermes_nb in this notebook", () => actions.load()],
      ["hermes:panel", "Show agents, sessions and runs", "Open the side panel", () => shell.activateById(panel.id)],
    ];
    for (const [id, label, caption, execute] of entries) {
      commands.addCommand(id, {
        label,
        caption,
        describedBy: NO_ARGUMENTS,
        isEnabled: id === "hermes:panel" ? () => true : isEnabled,
        execute,
      });
      palette?.addItem({ command: id, category: CATEGORY });
    }
    tracker.currentChanged.connect(() => entries.forEach(([id]) => commands.notifyCommandChanged(id)));
    for (const [name, id, label] of [
      ["hermes-run", "hermes:run", "Run agent"],
      ["hermes-promote", "hermes:promote", "Promote to Flyte"],
    ]) {
      toolbars?.addFactory("Notebook", name, () => new CommandToolbarButton({ commands, id, label }));
    }

    // At once, not when the settings are there: an editor gets the extensions that are known when it is made.
    const found = settings?.load(ID).catch(() => null) ?? Promise.resolve(null);
    addCells(
      extensions,
      languages,
      found.then(setting => setting?.composite.highlight !== false),
    );
  },
};

export default plugin;
