import assert from "node:assert/strict";
import { test } from "node:test";
import CASES from "../../../tests/golden/formulas.json";
import "../../test/page.js";
import { typesetter } from "../src/turn/lab.js";
import { Prose } from "../src/turn/markdown.js";

function shown(text) {
  const made = new Prose();
  made.set(text, false);
  return made.element;
}

const formulas = made => [...made.querySelectorAll(".hnbr-formula")].map(e => e.textContent);

for (const [text, wanted] of CASES.formulas) {
  test(`formulas of ${JSON.stringify(text)}`, () => assert.deepEqual(formulas(shown(text)), wanted));
}

for (const text of CASES.none) {
  test(`no formula in ${JSON.stringify(text)}`, () => {
    const made = shown(text);
    assert.deepEqual(formulas(made), []);
    assert.equal(made.textContent.split("$").length, text.split("$").length);
  });
}

test("a formula is set once, when its block is over", () => {
  const seen = [],
    made = new Prose({ typeset: formula => seen.push(formula.textContent) });
  made.set("So $x$ is", true);
  assert.deepEqual(seen, []);
  made.set("So $x$ is\n\nand $y", true);
  made.set("So $x$ is\n\nand $y$", false);
  assert.deepEqual(seen, ["$x$", "$y$"]);
});

test("what may be markup in a formula stays text", () =>
  assert.equal(shown("$<img src=x>$").querySelector(".hnbr-formula img"), null));

test("without a front end that sets formulas nobody is asked", () => assert.equal(typesetter({}), undefined));
