import assert from "node:assert/strict";
import { test } from "node:test";
import "../../test/page.js";
import { rowFor } from "../src/turn/rows.js";

function rowOf(item, context = {}) {
  const made = new (rowFor(item.kind))("n0", {
    asked: [],
    fetch: () => {},
    isDead: () => false,
    insert: null,
    act: async () => ({ ok: true }),
    ...context,
  });
  made.update(item);
  return made;
}

function open(row) {
  const details = row.element.querySelector("details") ?? row.element;
  details.open = true;
  details.dispatchEvent(new window.Event("toggle"));
}

const text = row => row.element.textContent;

const step = (more = {}) => ({
  kind: "call",
  state: "ok",
  icon: "✓",
  call: "rows()",
  summary: "",
  duration: "",
  depth: 0,
  ...more,
});

test("a row says call, summary and duration as it was told, indented as deep as it is", () => {
  const row = rowOf(step({ is_code: true, summary: "→ 3 rows", duration: "2 ms", depth: 2 }));
  assert.equal(text(row), "✓rows() → 3 rows2 ms");
  assert.equal(row.element.style.marginLeft, "3.2em");
  assert.equal(row.element.querySelector("code").textContent, "rows()");
  assert.equal(row.element.querySelector("details"), null, "nothing to open");
});

test("what a tool returned is text, never HTML", () => {
  const row = rowOf(
    step({ call: "<img src=x onerror=alert(1)>", summary: "<b>bold</b>", details: [{ label: "", text: "<i>x</i>" }] }),
  );
  open(row);
  assert.equal(row.element.querySelector("img, b, i"), null);
  assert.match(text(row), /<img src=x onerror=alert\(1\)> <b>bold<\/b>.*<i>x<\/i>/);
});

test("only an address of the web becomes a link", () => {
  const linkOf = url => rowOf(step({ kind: "note", url })).element.querySelector("a");
  assert.equal(linkOf("https://flyte.example/run").getAttribute("href"), "https://flyte.example/run");
  assert.equal(linkOf("https://flyte.example/run").getAttribute("rel"), "noopener noreferrer nofollow");
  assert.equal(linkOf("javascript:alert(1)"), null);
  assert.equal(linkOf("javascript://x%0aalert(1)"), null);
  assert.equal(linkOf(undefined), null);
});

test("a row opens to what it carries, and asks for the rest", () => {
  const asked = [],
    row = rowOf(step({ has_more: true, details: [{ label: "Result", text: "a", rest: 1234 }] }), {
      fetch: name => asked.push(name),
    });
  assert.deepEqual(asked, []);
  open(row);
  assert.deepEqual(asked, ["n0"]);
  assert.match(text(row), /Resulta1,234 more characters/);
  row.tell({ details: [{ label: "Result", columns: ["name", "n"], rows: [["Ada", "1,200"]], rest: 3 }] });
  assert.match(text(row), /nameAda|namenAda1,200/);
  assert.match(text(row), /3 more rows/);
  assert.equal(row.element.querySelector("td.hnbr-number").textContent, "1,200");
});

test("what a call told is asked for anew when the call has gone on", () => {
  const asked = [],
    item = step({ state: "running", details: [{ label: "Arguments", pairs: [["n", "1"]] }] });
  const row = rowOf(item, { fetch: name => asked.push(name) });
  open(row);
  assert.deepEqual(asked, [], "what runs has told all");
  row.update({ ...item, state: "ok" });
  assert.deepEqual(asked, ["n0"]);
});

test("without a kernel nothing is asked, and what lacks is said", () => {
  const asked = [],
    row = rowOf(step({ has_more: true }), { fetch: name => asked.push(name), isDead: () => true });
  open(row);
  assert.deepEqual(asked, []);
  assert.match(text(row), /The rest needs the kernel/);
});

test("plots are below their row, with a text for those who do not see them", () => {
  const row = rowOf(step({ pictures: ["data:image/png;base64,AA", "data:image/png;base64,BB"] }));
  assert.deepEqual(
    [...row.element.querySelectorAll("img")].map(img => img.getAttribute("alt")),
    ["Plot 1 of rows()", "Plot 2 of rows()"],
  );
});

test("calls side by side are rows within their row, and keep open what was opened", () => {
  const inner = n => step({ call: `f(${n})`, details: [{ label: "", text: `page ${n}` }] });
  const row = rowOf(step({ kind: "group", call: "f × 2", steps: [inner(0), inner(1)] }));
  open(row);
  const [first] = row.element.querySelectorAll(".hnbr-step");
  open({ element: first });
  row.update(step({ kind: "group", call: "f × 2", steps: [inner(0), step({ call: "f(1)", state: "error" })] }));
  assert.match(row.element.querySelector(".hnbr-step").textContent, /page 0/);
});

test("what runs has a clock, and none when the kernel went", () => {
  const row = rowOf(step({ state: "running", icon: "◌", began: 100 }));
  row.tick(102.5);
  assert.match(text(row), /2\.5 s/);
  row.die();
  row.tick(110);
  assert.equal(text(row), "✗rows() cut off");
});

test("the log of a run that did not end well is open", () => {
  const log = state => rowOf(step({ kind: "log", state, call: "Log", details: [{ label: "", text: "line" }] }));
  assert.match(text(log("error")), /line/);
  assert.doesNotMatch(text(log("ok")), /line/);
});

test("an approval has a button for each choice, and sends the one that is clicked, once", async t => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const sent = [],
    ask = {
      id: "q1",
      approval: true,
      name: "drop",
      question: "Drop orders?",
      arguments: '{"n": 7}',
      choices: ["once", "always", "deny"],
    };
  const row = rowOf(
    { kind: "wait", ask },
    {
      act: async message => {
        sent.push(message);
        return { ok: true };
      },
    },
  );
  const buttons = [...row.element.querySelectorAll("button")];
  assert.deepEqual(
    buttons.map(b => b.textContent),
    ["Approve", "Always", "Deny"],
  );
  assert.equal(row.element.getAttribute("aria-label"), "Approve this call?");
  assert.ok(
    buttons.every(b => b.disabled),
    "the second half of a double click approves nothing",
  );
  t.mock.timers.tick(500);
  assert.ok(buttons.every(b => !b.disabled));
  buttons[2].click();
  buttons[0].click();
  assert.deepEqual(sent, [{ do: "answer", id: "q1", answer: "deny" }]);
});

test("an answer that the kernel refused can be given again", async t => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const ask = { id: "q1", approval: true, question: "Go?", choices: ["once"] };
  const row = rowOf({ kind: "wait", ask }, { act: async () => ({ ok: false }) });
  t.mock.timers.tick(500);
  const [once] = row.element.querySelectorAll("button");
  once.click();
  assert.equal(once.disabled, true);
  await Promise.resolve();
  await Promise.resolve();
  assert.equal(once.disabled, false);
});

test("a question takes a choice or words, no blanks; answered it is a row", t => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const sent = [],
    ask = { id: "q2", approval: false, question: "Which year?", choices: ["2024"] };
  const row = rowOf(
    { kind: "wait", ask },
    {
      act: async message => {
        sent.push(message.answer);
        return { ok: false };
      },
    },
  );
  t.mock.timers.tick(500);
  const field = row.element.querySelector("textarea"),
    [choice, answer] = row.element.querySelectorAll("button");
  field.value = "  ";
  answer.click();
  field.value = "neither";
  answer.click();
  choice.disabled = false;
  choice.click();
  assert.deepEqual(sent, ["neither", "2024"]);
  row.update(step({ kind: "wait", call: "Which year?", summary: "→ 2024" }));
  assert.equal(row.element.querySelector("textarea"), null);
  assert.match(text(row), /Which year\? → 2024/);
});

test("an answer is marked as being written until it is over", () => {
  const row = rowOf({ kind: "answer", text: "Fi", open: true });
  assert.equal(row.element.getAttribute("aria-busy"), "true");
  row.update({ kind: "answer", text: "Five.", open: false });
  assert.deepEqual([row.element.getAttribute("aria-busy"), text(row)], ["false", "Five.\n"]);
});
