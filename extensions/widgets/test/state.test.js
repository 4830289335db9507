import assert from "node:assert/strict";
import { test } from "node:test";
import { Turn } from "../src/turn/state.js";

const told = (more = {}) => ({
  id: "t1",
  now: Date.now() / 1000,
  head: { status: "running", agent: "analyst", began: Date.now() / 1000 - 5, line: "" },
  items: [
    ["m0", { kind: "said", text: "Let me see" }],
    ["c0", { kind: "call", call: "rows()", icon: "✓", summary: "→ 3 rows", duration: "3 ms" }],
  ],
  ...more,
});

test("an item is put at its place", () => {
  const turn = new Turn(told());
  turn.apply([["put", "n0", 1, { kind: "note", call: "between" }]]);
  assert.deepEqual(turn.order, ["m0", "n0", "c0"]);
  assert.equal(turn.items.get("n0").call, "between");
});

test("a text grows by what is added, from nothing too", () => {
  const turn = new Turn(told());
  turn.apply([
    ["add", "m0", "text", " what"],
    ["add", "m0", "text", " there is."],
    ["add", "m0", "output", "hm"],
  ]);
  assert.equal(turn.items.get("m0").text, "Let me see what there is.");
  assert.equal(turn.items.get("m0").output, "hm");
});

test("what is set changes alone, and null takes it away", () => {
  const turn = new Turn(told());
  turn.apply([["set", "c0", { state: "error", duration: "5 ms", summary: null }]]);
  assert.deepEqual(turn.items.get("c0"), { kind: "call", call: "rows()", icon: "✓", state: "error", duration: "5 ms" });
});

test("a changed item is another object, so that its row is drawn; the others stay", () => {
  const turn = new Turn(told()),
    before = new Map(turn.items);
  turn.apply([["add", "m0", "text", "!"]]);
  assert.notEqual(turn.items.get("m0"), before.get("m0"));
  assert.equal(turn.items.get("c0"), before.get("c0"));
});

test("what is deleted is gone, and operations on it are passed over", () => {
  const turn = new Turn(told());
  turn.apply([
    ["del", "c0"],
    ["set", "c0", { state: "ok" }],
    ["add", "c0", "text", "late"],
  ]);
  assert.deepEqual(turn.order, ["m0"]);
  assert.equal(turn.items.has("c0"), false);
});

test("the head changes by key", () => {
  const turn = new Turn(told());
  assert.equal(turn.isRunning, true);
  turn.apply([["head", { status: "ok", line: "2 steps" }]]);
  assert.equal(turn.isRunning, false);
  assert.deepEqual([turn.head.agent, turn.head.line], ["analyst", "2 steps"]);
});

test("a queued turn runs, a stopped one does not", () => {
  const running = ["running", "queued"],
    over = ["ok", "stopped", "error", "timed_out", "killed"];
  const isRunning = status => new Turn(told({ head: { status } })).isRunning;
  assert.deepEqual(running.map(isRunning), [true, true]);
  assert.deepEqual(
    over.map(isRunning),
    over.map(() => false),
  );
});

test("its time goes by the kernel's clock, whatever the browser's says", t => {
  t.mock.timers.enable({ apis: ["Date"], now: 1_000_000 });
  const turn = new Turn(told({ now: 5000, head: { status: "running", began: 4990 } })); // the browser believes that it is 1000
  assert.equal(turn.elapsed, 10);
  t.mock.timers.tick(2500);
  assert.equal(turn.elapsed, 12.5);
});

test("its answer is the last one", () => {
  const turn = new Turn(told());
  assert.equal(turn.answer, "");
  turn.apply([
    ["put", "a0", 2, { kind: "answer", text: "Five" }],
    ["put", "a1", 3, { kind: "answer", text: "Six" }],
  ]);
  assert.equal(turn.answer, "Six");
});

test("as text it has each row, indented as deep as it is, and the answer apart", () => {
  const turn = new Turn(told());
  turn.apply([
    ["set", "c0", { depth: 1, summary: "no table" }],
    ["put", "a0", 2, { kind: "answer", text: "Five." }],
    ["head", { line: "1 tool call" }],
  ]);
  assert.equal(turn.asText(), "Let me see\n  ✓ rows() no table · 3 ms\n\nFive.\n\n\n1 tool call");
});
