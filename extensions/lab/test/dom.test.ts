import assert from "node:assert/strict";
import { test } from "node:test";
import "../../test/page.js";
import { element, type IRow, Rows } from "../src/dom";

type Item = { id: string; text: string };

function listOf(...items: Item[]): { list: Rows<Item>; node: HTMLElement; texts: () => (string | null)[] } {
  const node = element("ul");
  document.body.append(node);
  const make = (): IRow<Item> => {
    const button = element("button");
    const row = element("li", {}, button);
    return { node: row, update: item => void (button.textContent = item.text) };
  };
  const list = new Rows<Item>(node, item => item.id, make);
  list.update(items);
  return { list, node, texts: () => [...node.children].map(row => row.textContent) };
}

const item = (id: string, text = id): Item => ({ id, text });

test("rows come in the order of the data and stay the same elements", () => {
  const { list, node, texts } = listOf(item("a"), item("b"), item("c"));
  const [a, b, c] = node.children;
  list.update([item("c"), item("a", "A"), item("d")]);
  assert.deepEqual(texts(), ["c", "A", "d"]);
  assert.deepEqual([node.children[0], node.children[1]], [c, a]);
  assert.equal(b.isConnected, false);
});

test("what has the focus keeps it when its row moves", () => {
  const { list, node } = listOf(item("a"), item("b"));
  const button = node.children[1].querySelector("button")!;
  button.focus();
  list.update([item("b"), item("a")]);
  assert.equal(document.activeElement, button);
});

test("the focus of a row that is dropped goes to the heading of its list", () => {
  const { list, node } = listOf(item("a"));
  const summary = element("summary", { tabindex: "0" }, "Agents");
  document.body.append(element("details", { open: true }, summary, node));
  node.querySelector("button")!.focus();
  list.update([]);
  assert.equal(document.activeElement, summary);
});

test("a listener, a flag and a text are told apart", () => {
  let n = 0;
  const made = element("button", { type: "button", hidden: true, disabled: false, onclick: () => n++ }, "<b>");
  made.click();
  assert.equal(n, 1);
  assert.equal(made.outerHTML, '<button type="button" hidden="">&lt;b&gt;</button>');
});
