import assert from "node:assert/strict";
import { test } from "node:test";
import { frame, place } from "../../test/page.js";
import { Turn } from "../src/turn/state.js";
import { TurnView } from "../src/turn/turn.js";

function stage(head = {}, { isDead = false, ...more } = {}) {
  const state = new Turn({
    id: "t1",
    now: Date.now() / 1000,
    head: {
      status: "running",
      agent: "analyst",
      began: Date.now() / 1000,
      doing: "thinking",
      word: "running",
      line: "",
      ...head,
    },
    items: [
      ["a", { kind: "note", call: "one" }],
      ["b", { kind: "note", call: "two" }],
    ],
  });
  const sent = [],
    kernel = { isDead };
  const view = new TurnView(state, {
    act: async message => {
      sent.push(message);
      return { ok: true, text: "done" };
    },
    insert: null,
    isDead: () => kernel.isDead,
    fetch: () => {},
    ...more,
  });
  place().append(view.element);
  return { state, view, sent, kernel };
}

const shown = (view, ...names) => names.filter(name => !view[name].hidden);
const rows = view => [...view.items.children].map(row => row.textContent.trim());

test("while it runs it can be stopped and steered; over, it can be copied, asked again and forked", async t => {
  const { state, view } = stage();
  t.after(() => view.close());
  assert.deepEqual(shown(view, "stop", "steer", "copy", "retry", "fork", "promote"), ["stop", "steer"]);
  state.apply([["head", { status: "ok", word: "done", line: "2 steps" }]]);
  view.refresh();
  await frame();
  assert.deepEqual(shown(view, "stop", "steer", "copy", "retry", "fork", "promote"), ["copy", "retry", "fork"]);
  assert.equal(view.line.textContent, "2 steps");
});

test("it can be promoted where the agent can", t => {
  const { view } = stage({ status: "ok" }, { mayPromote: () => true });
  t.after(() => view.close());
  assert.deepEqual(shown(view, "promote"), ["promote"]);
});

test("a queued turn is cancelled, not stopped, and has no time", t => {
  const { view } = stage({ status: "queued" });
  t.after(() => view.close());
  assert.deepEqual([view.stop.textContent, view.time.hidden], ["Cancel", true]);
});

test("without its kernel it says so and offers only a copy", async t => {
  const { view, kernel } = stage();
  t.after(() => view.close());
  kernel.isDead = true;
  view.refresh();
  await frame();
  assert.match(view.doing.textContent, /kernel stopped during this turn/);
  assert.deepEqual(shown(view, "stop", "steer", "retry", "fork"), []);
});

test("what ran or asked when the kernel went looks as if it were over", async t => {
  const { state, view, kernel } = stage();
  t.after(() => view.close());
  const ask = { id: "r1", question: "May it?", name: "f", approval: true, choices: ["once", "always", "deny"] };
  state.apply([
    ["put", "t", 0, { kind: "call", icon: "◌", call: "slow()", state: "running", began: 1 }],
    ["put", "w", 1, { kind: "wait", ask }],
    ["put", "q", 2, { kind: "wait", ask: { ...ask, id: "r2", approval: false, choices: ["a"] } }],
  ]);
  view.refresh();
  await frame();
  kernel.isDead = true;
  view.refresh();
  await frame();
  const [tool, approval, question] = view.items.children;
  assert.equal(tool.textContent, "✗slow() cut off");
  for (const asked of [approval, question]) {
    assert.ok([...asked.querySelectorAll("button, textarea")].every(made => made.disabled));
    assert.match(asked.textContent, asked === approval ? /^No longer waitingf/ : /^No longer waiting: May it\?/);
    assert.ok(asked.classList.contains("hnbr-over"));
  }
  await new Promise(resolve => setTimeout(resolve, 600)); // longer than a question is deaf to the end of a double click
  assert.ok([...approval.querySelectorAll("button")].every(made => made.disabled));
});

test("rows follow the order of the items and stay the same elements", async t => {
  const { state, view } = stage();
  t.after(() => view.close());
  const [one, two] = view.items.children;
  state.apply([
    ["put", "c", 1, { kind: "note", call: "between" }],
    ["set", "b", { call: "second" }],
  ]);
  view.refresh();
  await frame();
  assert.deepEqual(rows(view), ["one", "between", "second"]);
  assert.equal(view.items.children[0], one);
  assert.equal(view.items.children[2], two);
  state.apply([["del", "a"]]);
  view.refresh();
  await frame();
  assert.deepEqual(rows(view), ["between", "second"]);
});

test("many changes are one frame", async t => {
  const { state, view } = stage();
  t.after(() => view.close());
  const before = view.frames;
  for (let i = 0; i < 50; i++) {
    state.apply([["add", "a", "call", "."]]);
    view.refresh();
  }
  await frame();
  assert.equal(view.frames, before + 1);
  assert.equal(rows(view)[0], `one${".".repeat(50)}`);
});

test("a stop is sent for this turn and can't be clicked twice", async t => {
  const { view, sent } = stage();
  t.after(() => view.close());
  view.stop.click();
  view.stop.click();
  assert.deepEqual(sent, [{ do: "stop", turn: "t1" }]);
  await Promise.resolve();
  assert.equal(view.said.textContent, "done");
});

test("what it does is announced once, not with every word", async t => {
  const { state, view } = stage();
  t.after(() => view.close());
  assert.equal(view.announce.textContent, "analyst: thinking");
  state.apply([["head", { status: "ok", word: "done" }]]);
  view.refresh();
  await frame();
  assert.equal(view.announce.textContent, "analyst: done");
});

test("a kernel that is silent for more than six seconds is said to be", t => {
  let now = 1000;
  t.mock.method(performance, "now", () => now);
  const { view } = stage();
  t.after(() => view.close());
  now += 7000;
  view._tick();
  assert.equal(view.doing.textContent, "Kernel not responding for 7.0 s");
  view.heard();
  assert.equal(view.element.classList.contains("hnbr-silent"), false);
});
