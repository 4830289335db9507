import assert from "node:assert/strict";
import { test } from "node:test";
import "../../test/page.js";
import { firstLine, summary } from "../src/summary";

const turn = (answer: string) =>
  `<style>.hnb{}</style>\n<div class="hnb mathjax_ignore"><div class="hnb-row">f</div>\n<div class="hnb-answer"><p>${answer}</p></div>` +
  '<details class="hnb-total"><summary>scripted · 1.2 s</summary><p>more</p></details></div>';

test("a turn is its answer's first words and its totals", () => {
  assert.equal(summary({ "text/html": turn("They <b>bring</b>\n2,210.") }), "They bring 2,210. · scripted · 1.2 s");
  assert.equal(summary({ "text/html": turn("word ".repeat(60)) })?.length, 80 + " · scripted · 1.2 s".length);
});

test("HTML in lines, as files have it, is the same", () =>
  assert.match(summary({ "text/html": turn("Five.").split(/(?<=\n)/) }) ?? "", /^Five\. · /));

test("without an answer it is the first line of its text", () =>
  assert.equal(
    summary({ "text/html": '<style></style><div class="hnb-card">', "text/plain": "\nAgent analyst\nx" }),
    "Agent analyst",
  ));

test("what is not ours is JupyterLab's", () => {
  assert.equal(summary({ "text/html": "<b>x</b>", "text/plain": "x" }), undefined);
  assert.equal(summary(undefined), undefined);
  assert.equal(firstLine({}), undefined);
});
