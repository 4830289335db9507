import assert from "node:assert/strict";
import { test } from "node:test";
import { CATEGORY, GONE, Log, RECORD_BYTES, REPLAYED, UNTIMED } from "../src/timeline/log.js";

const KIND = { turn: 0, model: 1, tool: 2, agent: 3, wait: 4 };
const STATUS = { running: 0, ok: 1, error: 2, stopped: 3, timed_out: 4, denied: 5, skipped: 6, killed: 7 };
const code = ({ kind = "tool", status = "ok", flags = 0 }) => KIND[kind] | (STATUS[status] << 3) | flags;

// Records as `hermes_nb/widgets/_columns.py` writes them: little-endian, 21 bytes each, not aligned.
function records(spans) {
  const data = new DataView(new ArrayBuffer(RECORD_BYTES * spans.length));
  spans.forEach((span, at) => {
    const o = at * RECORD_BYTES;
    data.setUint32(o, span.i ?? at, true);
    data.setFloat64(o + 4, span.start, true);
    data.setFloat32(o + 12, span.length ?? Number.NaN, true);
    data.setUint16(o + 16, span.name ?? 0, true);
    data.setUint16(o + 18, span.agent ?? 1, true);
    data.setUint8(o + 20, code(span));
  });
  return new DataView(data.buffer);
}

const NAMES = ["rows", "analyst", "scout", "weather"];

function logOf(spans, head = {}) {
  const log = new Log();
  log.add({ from: 0, names: NAMES, now: 100, live: false, ...head }, records(spans));
  log.touch();
  return log;
}

const close = (a, b) => assert.ok(Math.abs(a - b) < 1e-6, `${a} is not ${b}`);

test("a record is read by its bytes", () => {
  const log = logOf([
    { i: 2, start: 1_700_000_000.125, length: 0.5, name: 3, agent: 2, kind: "tool", status: "timed_out", flags: REPLAYED },
  ]);
  assert.equal(log.n, 3);
  assert.equal(log.start[2], 1_700_000_000.125);
  assert.equal(log.length[2], 0.5);
  assert.deepEqual(
    [log.nameOf(2), log.agentOf(2), log.kindName(2), log.status(2)],
    ["weather", "scout", "tool", "timed_out"],
  );
  assert.equal(log.isReplayed(2), true);
});

test("records within a larger buffer are read from where they are", () => {
  const whole = new Uint8Array(5 + RECORD_BYTES);
  whole.set(new Uint8Array(records([{ start: 7, length: 1 }]).buffer), 5);
  const log = new Log();
  log.add({ from: 0, names: NAMES, now: 8 }, new DataView(whole.buffer, 5, RECORD_BYTES));
  assert.equal(log.start[0], 7);
});

test("half a record at the end is passed over", () => {
  const log = new Log(),
    all = records([
      { start: 1, length: 1 },
      { start: 2, length: 1 },
    ]);
  const changed = log.add({ from: 0, names: NAMES, now: 8 }, new DataView(all.buffer, 0, RECORD_BYTES + 9));
  assert.deepEqual(changed, [0]);
  assert.equal(log.n, 1);
});

test("it grows beyond its first room and keeps what it had", () => {
  const log = logOf(Array.from({ length: 60 }, (_, i) => ({ start: i, length: 1 })));
  log.add({ from: 4, names: [], now: 9 }, records([{ i: 500, start: 500, length: 2 }]));
  assert.equal(log.n, 501);
  assert.deepEqual([log.start[59], log.start[500], log.length[500]], [59, 500, 2]);
});

test("names are told once, from a number on", () => {
  const log = logOf([]);
  log.add({ from: 2, names: ["scout (2)"], now: 1 }, records([]));
  assert.deepEqual(log.names, ["rows", "analyst", "scout (2)"]);
});

test("a snapshot is columns one after the other", () => {
  const n = 3,
    data = new ArrayBuffer(17 * n);
  new Float64Array(data, 0, n).set([10, 20, 30]);
  new Float32Array(data, 8 * n, n).set([1, 2, Number.NaN]);
  new Uint16Array(data, 12 * n, n).set([0, 3, 0]);
  new Uint16Array(data, 14 * n, n).set([1, 1, 2]);
  new Uint8Array(data, 16 * n, n).set([
    code({ kind: "tool" }),
    code({ kind: "model" }),
    code({ kind: "wait", status: "running" }),
  ]);
  const log = new Log();
  log.load({ n, data: new DataView(data), names: NAMES, now: 33, live: false });
  assert.deepEqual(
    [0, 1, 2].map(i => [log.start[i], log.nameOf(i), log.agentOf(i), log.kindName(i), log.status(i)]),
    [
      [10, "rows", "analyst", "tool", "ok"],
      [20, "weather", "analyst", "model", "ok"],
      [30, "rows", "scout", "wait", "running"],
    ],
  );
  assert.equal(log.seconds(2), 3); // what runs is as long as the kernel's clock says
});

test("what is live goes on without being told", t => {
  let now = 1000;
  t.mock.method(performance, "now", () => now);
  const log = logOf([{ start: 98, status: "running" }], { live: true });
  assert.equal(log.seconds(0), 2);
  now += 500;
  assert.equal(log.seconds(0), 2.5);
  assert.equal(log.end(0), 100.5);
});

test("a span has the colour of how it ended, then of what it is", () => {
  const table = new Log().categories(),
    of = more => table[code(more)];
  assert.equal(of({ kind: "tool" }), CATEGORY.tool);
  assert.equal(of({ kind: "agent" }), CATEGORY.turn);
  assert.equal(of({ kind: "model", flags: REPLAYED }), CATEGORY.replayed);
  assert.equal(of({ kind: "model", status: "error", flags: REPLAYED }), CATEGORY.error);
  for (const status of ["timed_out", "killed"]) assert.equal(of({ status }), CATEGORY.error);
  for (const status of ["stopped", "denied", "skipped"]) assert.equal(of({ status }), CATEGORY.stopped);
  assert.equal(of({ status: "running" }), CATEGORY.running);
  assert.equal(table[GONE | (STATUS.ok << 3)], 0);
});

test("spans come in the order of their begin, whatever the order they were told in", () => {
  const log = logOf([
    { start: 5, length: 1 },
    { start: 1, length: 1 },
    { start: 3, length: 1 },
  ]);
  assert.deepEqual([...log.layout().shown], [1, 2, 0]);
  assert.deepEqual(
    [0, 1, 2].map(i => log.placeOf(i)),
    [2, 0, 1],
  );
});

test("what is gone is not shown", () => {
  const log = logOf([
    { start: 0, length: 1 },
    { start: 1, length: 1 },
  ]);
  log.code[0] = GONE;
  log.touch();
  assert.deepEqual([...log.layout().shown], [1]);
  assert.equal(log.placeOf(0), -1);
});

test("an idle gap is cut short, and shown at its true length when asked for", () => {
  const log = logOf([
    { start: 0, length: 10 },
    { start: 1000, length: 10 },
  ]);
  const { blocks, width, x0, x1 } = log.layout();
  assert.deepEqual(
    blocks.map(b => [b.start, b.end]),
    [
      [0, 10],
      [1000, 1010],
    ],
  );
  close(x0[1], 10.24); // 1.2 % of the 20 busy seconds
  close(x1[1], 20.24);
  close(width, 20.24);
  close(log.x(1005), 15.24);
  log.hideIdle = false;
  log.touch();
  assert.equal(log.layout().blocks.length, 1);
  close(log.layout().x0[1], 1000);
});

test("a gap of less than a second is kept", () => {
  const log = logOf([
    { start: 0, length: 1 },
    { start: 1.9, length: 1 },
  ]);
  assert.equal(log.layout().blocks.length, 1);
  close(log.layout().x0[1], 1.9);
});

test("lanes are by agent: the agent, its model, each tool, its waits", () => {
  const log = logOf([
    { start: 0, length: 9, kind: "turn", name: 1 },
    { start: 1, length: 1, kind: "wait" },
    { start: 2, length: 1, kind: "tool", name: 3 },
    { start: 3, length: 1, kind: "tool", name: 0 },
    { start: 4, length: 1, kind: "model" },
    { start: 5, length: 1, kind: "agent", agent: 2, name: 2 },
    { start: 6, length: 1, kind: "tool", agent: 2, name: 3 },
  ]);
  const lanes = log.layout().lanes.map(lane => [lane.label, lane.owner]);
  assert.deepEqual(lanes, [
    ["analyst", ""],
    ["model", "analyst"],
    ["weather", "analyst"],
    ["rows", "analyst"],
    ["waiting", "analyst"],
    ["scout", ""],
    ["weather", "scout"],
  ]);
});

test("what overlaps gets a row of its own, what follows takes the first that is free", () => {
  const log = logOf([
    { start: 0, length: 2 },
    { start: 1, length: 2 },
    { start: 2, length: 1 },
    { start: 2.5, length: 1 },
  ]);
  const { lanes, rows, rowOf } = log.layout();
  assert.equal(lanes.length, 1);
  assert.deepEqual([...rowOf], [0, 1, 0, 2]);
  assert.deepEqual(
    rows.map(row => [...row.items]),
    [[0, 2], [1], [3]],
  );
});

test("a row never gets what comes after something that still runs", () => {
  const log = logOf([
    { start: 0, status: "running" },
    { start: 50, length: 1 },
  ]);
  assert.deepEqual([...log.layout().rowOf], [0, 1]);
});

test("a lane has six rows at most; the last takes what finds none", () => {
  const log = logOf(Array.from({ length: 10 }, (_, i) => ({ start: i / 100, length: 5 })));
  assert.deepEqual([...log.layout().rowOf], [0, 1, 2, 3, 4, 5, 5, 5, 5, 5]);
});

test("of more than sixty lanes the least busy share the last", () => {
  const names = Array.from({ length: 70 }, (_, i) => `tool ${i}`);
  const log = logOf(
    names.map((_, i) => ({ start: i, length: i / 100, name: i })),
    { names },
  );
  const { lanes } = log.layout();
  assert.equal(lanes.length, 60);
  assert.equal(lanes.at(-1).label, "11 more lanes");
  assert.equal(lanes[0].label, "tool 11");
});

test("filters are by kind, agent and status, and together", () => {
  const log = logOf([
    { start: 0, length: 1, kind: "tool" },
    { start: 1, length: 1, kind: "model" },
    { start: 2, length: 1, kind: "tool", agent: 2, status: "error" },
    { start: 3, length: 1, kind: "tool", flags: REPLAYED },
  ]);
  const shown = filter => {
    log.filter = { kind: "", agent: "", status: "", ...filter };
    log.touch();
    return [...log.layout().shown];
  };
  assert.deepEqual(shown({ kind: "tool" }), [0, 2, 3]);
  assert.deepEqual(shown({ agent: "scout" }), [2]);
  assert.deepEqual(shown({ status: "replayed" }), [3]);
  assert.deepEqual(shown({ kind: "tool", agent: "analyst", status: "ok" }), [0, 3]);
  assert.deepEqual(shown({}), [0, 1, 2, 3]);
});

test("the slowest is a step: no turn, no agent, no person that is waited for, nothing that still runs", () => {
  const log = logOf([
    { start: 0, length: 90, kind: "turn" },
    { start: 1, length: 80, kind: "agent" },
    { start: 2, length: 3, kind: "tool" },
    { start: 3, length: 4, kind: "model" },
    { start: 4, kind: "tool", status: "running" },
    { start: 5, length: 70, kind: "wait" },
  ]);
  assert.equal(log.slowest(), 3);
});

test("what was replayed without its time is not timed", () => {
  const log = logOf([
    { start: 0, length: 0, flags: REPLAYED | UNTIMED },
    { start: 1, length: 0, flags: REPLAYED },
  ]);
  assert.deepEqual([log.isTimed(0), log.isTimed(1)], [false, true]);
});

test("an empty log has a layout", () => {
  const made = new Log().layout();
  assert.deepEqual([made.rows.length, made.lanes.length, made.blocks.length], [0, 0, 0]);
  assert.equal(new Log().slowest(), -1);
});
