import assert from "node:assert/strict";
import { test } from "node:test";
import { Model, place } from "../../test/page.js";
import builder from "../src/forms/builder.js";
import { insertCell } from "../src/forms/form.js";
import promote from "../src/forms/promote.js";

const VIEW = "application/vnd.jupyter.widget-view+json";

function show(t, widget, data) {
  const model = new Model({ data, static: {} }),
    el = place(),
    close = widget().render({ model, el });
  t.after(close);
  const root = el.firstElementChild;
  return { model, root, view: root.hnbs, close, tell: message => model.tell("msg:custom", message) };
}

const option = (value, more = {}) => ({ value, label: value, note: "", ...more });

const AGENT = () => ({
  n: 3,
  created: null,
  form: {
    name: "analyst",
    model: "offline",
    model_id: "",
    base_url: "",
    key_variable: "",
    instructions: "Be brief.",
    max_turns: "",
    max_cost_usd: "",
    max_tokens: "",
    more_toolsets: "",
    runtime: "process",
    tools: ["rows"],
    toolsets: [],
  },
  choices: {
    models: [option("offline", { note: "needs no key" }), option("other")],
    runtimes: [option("process")],
    tools: [
      { variable: "rows", name: "rows", signature: "(n: int)", marks: [], description: "Rows.\nMore.", schema: {} },
      { variable: "late", name: "late", signature: "()", marks: ["async"], description: "", schema: {} },
      { variable: "bad", name: "bad", problem: "it takes *args" },
    ],
    toolsets: [{ name: "web", is_strong: true, touches: "the network" }],
  },
});

function type(view, name, value) {
  const { control } = view.inputs[name];
  control.value = value;
  control.dispatchEvent(new window.Event("input", { bubbles: true }));
}

const last = model => model.sent.at(-1);

test("the builder says that it is there, and has what Python chose", t => {
  const { model, view } = show(t, builder, AGENT());
  assert.deepEqual(model.sent, [{ t: "ready", keeps: false }]);
  assert.deepEqual(view.values(), AGENT().form);
  assert.equal(view.inputs.model.hinted.textContent, "needs no key");
});

test("what can't be a tool can't be chosen, and says why", t => {
  const { root } = show(t, builder, AGENT());
  const [rows, late, bad] = root.querySelectorAll("input[data-set=tools]");
  assert.deepEqual(
    [rows, late, bad].map(box => [box.checked, box.disabled]),
    [
      [true, false],
      [false, false],
      [false, true],
    ],
  );
  assert.match(root.textContent, /it takes \*args/);
});

test("a form is checked once one has stopped typing", t => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { model, view } = show(t, builder, AGENT());
  type(view, "name", "ana");
  t.mock.timers.tick(200);
  type(view, "name", "anal yst");
  t.mock.timers.tick(249);
  assert.equal(model.sent.length, 1);
  t.mock.timers.tick(1);
  assert.deepEqual([last(model).t, last(model).form.name, model.sent.length], ["check", "anal yst", 2]);
});

test("an error stands beside its field once one was there; an answer to an older form is passed over", t => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { view, tell } = show(t, builder, AGENT());
  type(view, "name", "1");
  t.mock.timers.tick(250);
  tell({ t: "checked", id: view.n - 1, errors: { name: "old" }, code: "" });
  assert.equal(view.inputs.name.said.hidden, true);
  tell({ t: "checked", id: view.n, errors: { name: "A name begins with a letter.", max_turns: "A number." }, code: "" });
  assert.match(view.inputs.name.said.textContent, /A name begins with a letter/);
  assert.equal(view.inputs.name.control.getAttribute("aria-invalid"), "true");
  assert.equal(view.inputs.max_turns.said.hidden, true); // nobody was there yet
});

test("a key that was typed into the form is forgotten, and said until one types there again", t => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { view, tell } = show(t, builder, AGENT());
  type(view, "key_variable", "sk-abc");
  t.mock.timers.tick(250);
  tell({ t: "checked", id: view.n, errors: { key_variable: "That is a key." }, code: "", forget: ["key_variable"] });
  assert.equal(view.inputs.key_variable.control.value, "");
  tell({ t: "checked", id: view.n, errors: {}, code: "x" });
  assert.match(view.inputs.key_variable.said.textContent, /That is a key/);
  type(view, "key_variable", "MY_KEY");
  t.mock.timers.tick(250);
  tell({ t: "checked", id: view.n, errors: {}, code: "x" });
  assert.equal(view.inputs.key_variable.said.hidden, true);
});

test("an agent is created from the form and the state that was seen, once", t => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { model, view, tell } = show(t, builder, AGENT());
  view.create.click();
  view.create.click();
  const created = model.sent.filter(message => message.t === "create");
  assert.equal(created.length, 1);
  assert.deepEqual([created[0].n, created[0].by, created[0].form.instructions], [3, view.id, "Be brief."]);
  tell({ t: "refused", by: "another tab", errors: {}, text: "no" });
  assert.equal(view.create.disabled, true);
  tell({ t: "refused", by: view.id, errors: { name: "It is taken.", model_id: "Name one." }, code: "" });
  assert.equal(view.create.disabled, false);
  assert.match(view.state.textContent, /2 fields need a look/);
  assert.equal(document.activeElement, view.inputs.name.control);
});

test("what is found anew leaves what was chosen", t => {
  const { model, view } = show(t, builder, AGENT()),
    data = AGENT();
  view.root.querySelectorAll("input[data-set=tools]")[1].checked = true;
  data.choices.tools.push({ variable: "fresh", name: "fresh", signature: "()", marks: [], description: "", schema: {} });
  model.set("data", data);
  assert.deepEqual(view.values().tools, ["rows", "late"]);
  assert.equal(view.root.querySelectorAll("input[data-set=tools]").length, 4);
});

test("without its kernel a form says so, keeps what was typed, and sends nothing", t => {
  const { model, view } = show(t, builder, AGENT());
  type(view, "name", "kept");
  view.die();
  assert.match(view.root.textContent, /What you typed is still here/);
  assert.ok([...view.root.querySelectorAll("input, select, textarea")].every(control => control.disabled));
  view.send({ t: "create" });
  assert.equal(last(model).t, "ready");
  assert.equal(view.inputs.name.control.value, "kept");
});

test("a form that is closed hears nothing any longer", t => {
  const { model, close } = show(t, builder, AGENT());
  close();
  assert.equal(model.nListeners(), 0);
});

const PROMOTION = (more = {}) => ({
  n: 1,
  agent: "analyst",
  card: null,
  is_open: true,
  is_aside: false,
  is_looking: false,
  is_submitting: false,
  error: "",
  missing: "",
  result: "",
  has_report: false,
  progress: null,
  sought_unix_s: 0,
  began_unix_s: 0,
  ended_unix_s: null,
  form: { target: "local", project: "", domain: "", endpoint: "", prompt: "How many?", yes: false, loopback: false },
  targets: [option("local", { note: "on this machine" }), option("named", { is_named: true })],
  plan: null,
  ...more,
});

const PLAN = findings => ({
  may_submit: !findings.some(f => f.severity === "stops"),
  findings,
  size_bytes: 41_000,
  packages: [],
  local_modules: [],
  versions: {},
  secrets: {},
  tools: [{ name: "rows", how: "child" }],
  model: { id: "m", provider: "p" },
});

test("a run can be submitted only where nothing stands in the way", t => {
  const stop = { severity: "stops", code: "secret", text: "No key is there.", cure: "Set one." };
  const { model, view } = show(t, promote, PROMOTION({ plan: PLAN([stop]) }));
  assert.equal(view.submit.disabled, true);
  assert.match(view.found.textContent, /1 problem to fix/);
  model.set("data", PROMOTION({ plan: PLAN([{ ...stop, severity: "note" }]) }));
  assert.equal(view.submit.disabled, false);
  assert.match(view.found.textContent, /Ready to run/);
  view.submit.click();
  assert.deepEqual([last(model).t, last(model).n, last(model).form.prompt], ["submit", 1, "How many?"]);
});

test("a run without a question is not submitted", t => {
  const { model, view } = show(t, promote, PROMOTION({ plan: PLAN([]) }));
  view.inputs.prompt.value = " ";
  view.submit.click();
  assert.equal(last(model).t, "ready");
  assert.equal(view.inputs.prompt.getAttribute("aria-invalid"), "true");
});

const RUN = (more = {}) => ({
  phase: "running",
  status: "running",
  is_done: false,
  attempt: 1,
  run: "r1",
  url: "",
  n_model_calls: 1,
  n_tool_calls: 2,
  input_tokens: 1200,
  output_tokens: null,
  cost: "",
  error: "",
  log: ["one", "two"],
  ...more,
});

test("a run shows its step, its counts and its time", t => {
  t.mock.timers.enable({ apis: ["Date", "setInterval"], now: 190_000 });
  const { view } = show(t, promote, PROMOTION({ progress: RUN(), began_unix_s: 100 }));
  assert.deepEqual(
    [...view.run.querySelectorAll("[aria-current=step]")].map(li => li.textContent),
    ["Running"],
  );
  assert.match(view.run.textContent, /1 model call, 2 tool calls/);
  assert.match(view.run.textContent, /1,200 tokens in, unknown out/);
  assert.equal(view.took.textContent, "1 min 30 s");
  t.mock.timers.tick(1000);
  assert.equal(view.took.textContent, "1 min 31 s");
});

test("the address of a run is a link only where it is one of the web", t => {
  const linkOf = url => show(t, promote, PROMOTION({ progress: RUN({ url }) })).view.run.querySelector("a");
  assert.equal(linkOf("https://flyte.example/r1").getAttribute("href"), "https://flyte.example/r1");
  assert.equal(linkOf("javascript:alert(1)"), null);
});

test("a run that failed ends at its last step and can be promoted again", t => {
  const { model, view } = show(
    t,
    promote,
    PROMOTION({ progress: RUN({ is_done: true, status: "timed_out" }), ended_unix_s: 5 }),
  );
  assert.equal(view.run.querySelector(".hnbs-wrong").textContent, "Timed out");
  assert.deepEqual(
    [...view.run.querySelectorAll(".hnbs-actions button")].map(b => b.textContent),
    ["Promote again"],
  );
  view.run.querySelector(".hnbs-actions button").click();
  assert.equal(last(model).t, "again");
});

test("a report is shown in a frame of its own that may ask for nothing, to who asked", t => {
  const { view, tell } = show(
    t,
    promote,
    PROMOTION({ progress: RUN({ is_done: true, status: "completed" }), has_report: true }),
  );
  view.run.querySelector(".hnbs-actions button").click();
  tell({ t: "report", by: "another tab", html: "<p>theirs</p>" });
  assert.equal(view.run.querySelector("iframe"), null);
  tell({ t: "report", by: view.id, html: "<p>ours</p>" });
  const made = view.run.querySelector("iframe");
  assert.equal(made.getAttribute("sandbox"), "allow-scripts");
  assert.match(made.getAttribute("srcdoc"), /default-src 'none'.*<p>ours<\/p>$/);
});

test("a run goes on without the kernel, and that is said", t => {
  const { view } = show(t, promote, PROMOTION({ progress: RUN() }));
  view.die();
  assert.match(view.root.textContent, /The run goes on in Flyte: %hermes resume r1 brings it back/);
});

function notebookOf(...cells) {
  let n = 0;
  const cellOf = ({ source = "", outputs = [] }) => {
    const cell = { id: `c${n++}`, cell_type: "code", outputs, source };
    return Object.assign(cell, { getSource: () => cell.source, setSource: text => (cell.source = text) });
  };
  const notebook = { cells: cells.map(cellOf), insertCell: (at, made) => notebook.cells.splice(at, 0, cellOf(made)) };
  const model = { get: () => "w", widget_manager: { context: { model: { sharedModel: notebook } } } };
  return { notebook, model, sources: () => notebook.cells.map(cell => cell.source) };
}

const FORM = { source: "form", outputs: [{ data: { [VIEW]: { model_id: "w" } } }] };

test("code comes into a new cell below the one with the form", () => {
  const { notebook, model, sources } = notebookOf({ source: "first" }, FORM, { source: "last" });
  const id = insertCell(model, "code");
  assert.deepEqual(sources(), ["first", "form", "code", "last"]);
  assert.equal(id, notebook.cells[2].id);
});

test("the cell that got it before is changed where nobody touched it", () => {
  const { notebook, model, sources } = notebookOf(FORM),
    id = insertCell(model, "one");
  assert.equal(insertCell(model, "two", { id, source: "one" }), id);
  assert.deepEqual(sources(), ["form", "two"]);
  notebook.cells[1].source = "mine";
  assert.notEqual(insertCell(model, "three", { id, source: "two" }), id);
  assert.deepEqual(sources(), ["form", "three", "mine"]);
});

test("where no cell shows the form, or the front end has none, nothing is put anywhere", () => {
  const { model, sources } = notebookOf({ source: "first" });
  assert.equal(insertCell(model, "code"), "");
  assert.deepEqual(sources(), ["first"]);
  assert.equal(insertCell({ get: () => "w" }, "code"), "");
});
