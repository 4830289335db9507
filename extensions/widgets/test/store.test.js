import assert from "node:assert/strict";
import { test } from "node:test";
import { Model, place } from "../../test/page.js";
import { Store } from "../src/turn/store.js";

const turn = (id, text = "") => ({
  id,
  now: 1,
  head: { status: "running", agent: "a", began: 0 },
  items: [["m", { kind: "answer", text }]],
});

class View {
  constructor() {
    this.el = place();
    this.drawn = [];
    this.heard = () => {};
    this.details = [];
  }

  refresh(id) {
    this.drawn.push(id);
  }

  told(...detail) {
    this.details.push(detail);
  }
}

function stage() {
  const model = new Model(),
    store = new Store(model),
    view = new View();
  store.shown(view);
  const tell = message => model.tell("msg:custom", message);
  return { model, store, view, tell };
}

test("a view that is shown asks to be told, and one that is hidden says so", () => {
  const { model, store, view } = stage();
  assert.deepEqual(model.sent, [{ t: "ready", keeps: false }]);
  store.hidden(view);
  assert.deepEqual(model.sent.at(-1), { t: "gone" });
});

test("all turns come in their order; one that is known stays the same object", () => {
  const { store, tell } = stage();
  tell({ t: "all", turns: [turn("b"), turn("a")], chat: { agent: "x" } });
  const known = store.turns.get("a");
  tell({ t: "all", turns: [turn("a", "new"), turn("c")], may_promote: true });
  assert.deepEqual(store.order, ["a", "c"]);
  assert.equal(store.turns.get("a"), known);
  assert.equal(known.answer, "new");
  assert.deepEqual([store.turns.has("b"), store.mayPromote, store.chat.agent], [false, true, "x"]);
});

test("operations reach their turn alone, and those of an unknown one nobody", () => {
  const { store, view, tell } = stage();
  tell({ t: "all", turns: [turn("a"), turn("b")] });
  view.drawn.length = 0;
  tell({ t: "ops", turn: "b", ops: [["add", "m", "text", "hello"]] });
  tell({ t: "ops", turn: "nobody", ops: [["add", "m", "text", "hello"]] });
  assert.deepEqual([store.turns.get("a").answer, store.turns.get("b").answer], ["", "hello"]);
  assert.equal(view.drawn[0], "b");
});

test("a sign of life draws nothing anew", () => {
  const { view, tell } = stage();
  tell({ t: "beat" });
  assert.deepEqual(view.drawn, []);
});

test("a detail goes to the views", () => {
  const { view, tell } = stage();
  tell({ t: "detail", turn: "a", k: "c0", detail: { facts: [] } });
  assert.deepEqual(view.details, [["a", "c0", { facts: [] }]]);
});

test("what was asked is answered to who asked", async () => {
  const { model, store, tell } = stage();
  const first = store.act({ do: "stop", turn: "a" }),
    second = store.act({ do: "fork", turn: "a" });
  const [one, two] = model.sent.slice(-2);
  assert.deepEqual([one.t, one.do, two.do], ["do", "stop", "fork"]);
  tell({ t: "said", n: two.n, ok: true, text: "forked" });
  tell({ t: "said", n: one.n, ok: false, text: "it is over" });
  assert.deepEqual([(await first).text, (await second).text], ["it is over", "forked"]);
});

test("a kernel that does not answer is said to be silent after 15 s", async t => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { store } = stage(),
    asked = store.act({ do: "stop" });
  t.mock.timers.tick(15_000);
  const said = await asked;
  assert.equal(said.ok, false);
  assert.match(said.text, /has not answered/);
});

test("when the kernel is gone, who waits hears it and nothing more is sent", async () => {
  const { model, store, view } = stage(),
    asked = store.act({ do: "stop" });
  store.die();
  assert.match((await asked).text, /kernel is gone/);
  assert.match((await store.act({ do: "fork" })).text, /kernel is gone/);
  assert.equal(model.sent.filter(message => message.do === "fork").length, 0);
  assert.equal(view.drawn.length, 1);
});

test("a kernel that restarts is gone", () => {
  const signal = () => ({ connect: hear => (signal.hear = hear), disconnect: () => {} });
  const model = new Model();
  model.widget_manager = { context: { sessionContext: { session: { kernel: { id: "k" } }, statusChanged: signal() } } };
  const store = new Store(model);
  signal.hear(null, "busy");
  assert.equal(store.isDead, false);
  signal.hear(null, "autorestarting");
  assert.equal(store.isDead, true);
});

test("what is written is the kernel's form; before it came, the text, with nothing that is HTML", () => {
  const { model, store, tell } = stage();
  assert.match(store.still()["text/plain"], /^Saved before anything was shown\./);
  tell({ t: "all", turns: [turn("a", "1 < 2 & <script>")] });
  assert.match(store.still()["text/html"], /1 &lt; 2 &amp; &lt;script&gt;/);
  assert.match(store.still()["text/plain"], /^1 < 2 & <script>/);
  model.state.static = { "text/html": "<p>done</p>" };
  assert.deepEqual(store.still(), { "text/html": "<p>done</p>" });
});

test("a store that is closed hears nothing any longer", () => {
  const { model, store } = stage();
  store.close();
  assert.equal(model.nListeners(), 0);
});

test("the error of a turn goes when the one in its place went well, other errors stay", () => {
  const widget = { output_type: "display_data", data: { "application/vnd.jupyter.widget-view+json": { model_id: "w" } } };
  const error = ename => ({ output_type: "error", ename, evalue: "x" });
  const cellOf = outputs => ({
    cell_type: "code",
    outputs,
    toJSON: () => ({ outputs: [...outputs] }),
    updateOutputs: (from, to, made) => outputs.splice(from, to - from, ...made),
  });
  const mine = cellOf([error("TurnFailedError"), widget, error("KeyError"), error("TurnFailedError")]),
    other = cellOf([error("TurnFailedError")]);
  const model = new Model({ shown_as: "w" });
  model.widget_manager = { context: { model: { sharedModel: { cells: [{ cell_type: "markdown" }, other, mine] } } } };
  new Store(model);
  const tell = message => model.tell("msg:custom", message);
  tell({ t: "all", turns: [turn("a")] });
  tell({ t: "ops", turn: "a", ops: [["head", { status: "error" }]] });
  tell({ t: "all", turns: [turn("b")] });
  assert.equal(mine.outputs.length, 4);
  tell({ t: "ops", turn: "b", ops: [["head", { status: "ok" }]] });
  assert.deepEqual(
    mine.outputs.map(o => o.ename ?? "widget"),
    ["TurnFailedError", "widget", "KeyError"],
  );
  assert.equal(other.outputs.length, 1);
});
