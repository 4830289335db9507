import assert from "node:assert/strict";
import { test } from "node:test";
import { place } from "../../test/page.js";
import { copyText, element, ownKeys } from "../src/shared/dom.js";

test("an element has attributes, listeners and children; what is false is left out", () => {
  let n = 0;
  const made = element(
    "button",
    { type: "button", hidden: true, title: null, disabled: false, rows: 0, onclick: () => n++ },
    "Go",
    null,
    false,
    undefined,
    element("b", {}, "!"),
  );
  assert.equal(made.outerHTML, '<button type="button" hidden="" rows="0">Go<b>!</b></button>');
  made.click();
  assert.equal(n, 1);
});

test("a text is never read as HTML", () =>
  assert.equal(element("p", { title: '"><b>' }, "<b>bold</b>").querySelector("b"), null));

test("what is copied is said for a moment, then the label is back", async t => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const written = [],
    made = element("button", {}, "Copy");
  Object.defineProperty(navigator, "clipboard", {
    value: { writeText: async text => written.push(text) },
    configurable: true,
  });
  await copyText("x = 1", made);
  assert.deepEqual([written, made.textContent], [["x = 1"], "Copied"]);
  t.mock.timers.tick(1500);
  assert.equal(made.textContent, "Copy");
});

test("where nothing can be copied, that is said", async t => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const made = element("button", {}, "Copy");
  place().append(made);
  Object.defineProperty(navigator, "clipboard", { value: undefined, configurable: true });
  await copyText("x = 1", made);
  assert.equal(made.textContent, "Can't copy here");
  assert.equal(document.querySelector("textarea"), null);
});

test("letters are the widget's, keys with Ctrl or Command the notebook's", () => {
  const outer = place(),
    root = element("div", {}, element("input")),
    heard = [];
  outer.append(root);
  outer.addEventListener("keydown", event => heard.push(event.key));
  const quiet = ownKeys(root),
    input = root.firstChild;
  const press = (key, more = {}) =>
    input.dispatchEvent(new window.KeyboardEvent("keydown", { key, bubbles: true, ...more }));
  press("d");
  assert.equal(root.hasAttribute("data-lm-suppress-shortcuts"), true);
  press("s", { ctrlKey: true });
  assert.equal(root.hasAttribute("data-lm-suppress-shortcuts"), false);
  press("s", { metaKey: true });
  assert.deepEqual(heard, ["s", "s"]);
  quiet();
  press("d");
  assert.equal(root.hasAttribute("data-lm-suppress-shortcuts"), false);
});
