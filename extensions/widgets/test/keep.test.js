import assert from "node:assert/strict";
import { test } from "node:test";
import { keepStatic } from "../src/shared/keep.js";

const VIEW = "application/vnd.jupyter.widget-view+json";
const outputOf = id => ({ output_type: "display_data", data: { [VIEW]: { model_id: id }, "text/plain": "View" } });
const STILL = { "text/html": "<p>five</p>", "text/plain": "five" };

function notebookOf(...outputs) {
  const cells = [
    { cell_type: "code", outputs },
    { cell_type: "markdown", source: "text" },
  ];
  return { cells, toJSON: () => structuredClone({ cells }) };
}

const modelOf = (notebook, id, more = {}) => ({
  get: name => ({ shown_as: id })[name],
  widget_manager: { context: { model: { sharedModel: notebook, ...more } } },
});

test("what is written has the static form in the widget's place; the notebook keeps the widget", () => {
  const notebook = notebookOf(outputOf("a"));
  assert.equal(
    keepStatic(modelOf(notebook, "a"), () => STILL),
    true,
  );
  assert.deepEqual(notebook.toJSON().cells[0].outputs[0].data, STILL);
  assert.equal(notebook.cells[0].outputs[0].data[VIEW].model_id, "a");
});

test("the form is that of the moment of writing", () => {
  const notebook = notebookOf(outputOf("a"));
  let n = 0;
  keepStatic(modelOf(notebook, "a"), () => ({ "text/html": `<p>${++n}</p>` }));
  assert.equal(notebook.toJSON().cells[0].outputs[0].data["text/html"], "<p>1</p>");
  assert.equal(notebook.toJSON().cells[0].outputs[0].data["text/html"], "<p>2</p>");
});

test("widgets of others stay as they are", () => {
  const notebook = notebookOf(outputOf("a"), outputOf("theirs"), { output_type: "stream", text: "hi" });
  keepStatic(modelOf(notebook, "a"), () => STILL);
  const [mine, theirs, stream] = notebook.toJSON().cells[0].outputs;
  assert.equal(mine.data["text/plain"], "five");
  assert.deepEqual(theirs, outputOf("theirs"));
  assert.equal(stream.text, "hi");
});

test("two widgets of a notebook wrap its writing once", () => {
  const notebook = notebookOf(outputOf("a"), outputOf("b"));
  keepStatic(modelOf(notebook, "a"), () => STILL);
  const wrapped = notebook.toJSON;
  keepStatic(modelOf(notebook, "b"), () => ({ "text/html": "<p>b</p>" }));
  assert.equal(notebook.toJSON, wrapped);
  assert.deepEqual(
    notebook.toJSON().cells[0].outputs.map(o => o.data["text/html"]),
    ["<p>five</p>", "<p>b</p>"],
  );
});

test("a form without HTML leaves the widget", () => {
  const notebook = notebookOf(outputOf("a"));
  keepStatic(modelOf(notebook, "a"), () => ({ "text/plain": "five" }));
  assert.deepEqual(notebook.toJSON().cells[0].outputs[0], outputOf("a"));
});

test("a form that fails does not keep the notebook from being written", t => {
  t.mock.method(console, "warn", () => {});
  const notebook = notebookOf(outputOf("a"));
  keepStatic(modelOf(notebook, "a"), () => {
    throw new Error("broken");
  });
  assert.equal(notebook.toJSON().cells.length, 2);
  assert.equal(console.warn.mock.callCount(), 1);
});

for (const [what, model] of [
  ["a front end without a notebook model", { get: () => "a", widget_manager: {} }],
  ["a front end without a manager", { get: () => "a" }],
  ["a server that writes the file", modelOf(notebookOf(outputOf("a")), "a", { collaborative: true })],
]) {
  test(`nothing is kept in ${what}`, () =>
    assert.equal(
      keepStatic(model, () => STILL),
      false,
    ));
}

test("the state of widgets that have a static form is not written; that of others is", () => {
  const mime = "application/vnd.jupyter.widget-state+json",
    layout = { state: { width: "1em" } },
    ours = { state: { _anywidget_id: "hermes_nb.widgets._view.TimelineView", _esm: "x".repeat(80_000), layout: "l" } },
    box = { state: { children: ["v"], layout: "l" } },
    theirs = { state: { _anywidget_id: "theirs.Map", layout: "l" } };
  const writtenOf = state => {
    const notebook = notebookOf(outputOf("a")),
      write = notebook.toJSON;
    const metadata = { kernelspec: {}, widgets: { [mime]: { version_major: 2, state } } };
    notebook.toJSON = () => ({ ...write(), metadata });
    keepStatic(modelOf(notebook, "a"), () => STILL);
    const written = notebook.toJSON().metadata;
    assert.equal(Object.keys(metadata.widgets[mime].state).length, Object.keys(state).length, "the page keeps what it has");
    return written;
  };
  assert.deepEqual(writtenOf({ l: layout, v: ours, a: box }), { kernelspec: {} });
  assert.deepEqual(Object.keys(writtenOf({ l: layout, v: ours, a: box, t: theirs }).widgets[mime].state), ["l", "t"]);
});
