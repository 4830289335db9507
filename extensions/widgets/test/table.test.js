import assert from "node:assert/strict";
import { test } from "node:test";
import { place } from "../../test/page.js";
import { Prose } from "../src/turn/markdown.js";
import { dressTable, plainHtml, toCsv, toFrame } from "../src/turn/table.js";

const ROWS = [
  ["customer", "revenue", "share"],
  ['Ada, "A"', "1,200", "54.3 %"],
  ["Barbara", "-10.5", ""],
];

test("a table as CSV quotes what needs it", () =>
  assert.equal(toCsv(ROWS), 'customer,revenue,share\n"Ada, ""A""","1,200",54.3 %\nBarbara,-10.5,\n'));

test("a column of numbers is one in the frame, any other is text", () => {
  const code = toFrame(ROWS);
  assert.match(code, /\["Ada, \\"A\\"", 1200, "54.3 %"\],/);
  assert.match(code, /\["Barbara", -10.5, ""\],/);
  assert.match(code, /columns=\["customer", "revenue", "share"\]\)/);
  assert.match(toFrame([["zip"], ["01234"]]), /\["01234"\]/, "a leading zero is no number");
});

const MARKDOWN = "| a | b |\n|---|--:|\n| 1 | 2 |\n";

function shown(isOpen, insert) {
  const made = new Prose({ onTable: (table, open) => dressTable(table, { insert }, open) });
  made.set(MARKDOWN, isOpen);
  place().append(made.element);
  return made.element;
}

test("a table has its place for buttons while it streams, and the buttons when it is over", () => {
  const bar = open => shown(open, () => true).querySelector(".hnbr-tablebar");
  assert.equal(bar(true).textContent, "");
  assert.equal(bar(false).textContent, "Copy tableCopy as CSVTo DataFrame");
  assert.equal(shown(false, null).querySelector(".hnbr-tablebar").textContent, "Copy tableCopy as CSV");
});

test("a table that scrolls can be reached by keyboard", () =>
  assert.equal(shown(false, null).querySelector(".hnbr-scroll > table").parentNode.tabIndex, 0));

test("a click puts the frame's code into the notebook", () => {
  const put = [];
  const made = shown(false, code => put.push(code));
  made.querySelector(".hnbr-tablebar").lastChild.click();
  assert.match(put[0], /pd\.DataFrame\(\[\n {4}\[1, 2\],\n\], columns=\["a", "b"\]\)/);
});

test("what is copied with its form has no button and no class of ours", () => {
  const html = plainHtml(shown(false, () => true));
  assert.match(html, /<table>.*<td dir="auto">1<\/td>/s);
  assert.doesNotMatch(html, /button|class=|Copy/);
});

test("a copy gives HTML where the browser takes it, and the text beside it", async () => {
  const { copyText } = await import("../src/shared/dom.js");
  const written = [],
    made = document.createElement("button");
  globalThis.ClipboardItem = class {
    constructor(parts) {
      this.parts = parts;
    }
  };
  Object.defineProperty(navigator, "clipboard", {
    value: { write: async items => written.push(...items) },
    configurable: true,
  });
  await copyText("| a |", made, "<table></table>");
  assert.deepEqual(Object.keys(written[0].parts), ["text/html", "text/plain"]);
  assert.equal(await written[0].parts["text/html"].text(), "<table></table>");
  assert.equal(made.textContent, "Copied");
  delete globalThis.ClipboardItem;
});
