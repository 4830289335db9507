import assert from "node:assert/strict";
import { test } from "node:test";
import FORMATS from "../../../tests/golden/formats.json";
import { ago, counted, lasted, tokens, word } from "../src/format";

process.env.TZ = "UTC"; // the days of the list

test("one is counted as one, thousands are parted", () => {
  assert.deepEqual([counted(0, "turn"), counted(1, "turn"), counted(1234, "turn")], ["0 turns", "1 turn", "1,234 turns"]);
});

test("tokens that are unknown are not 0", () => {
  assert.equal(tokens(null, null), "tokens unknown");
  assert.equal(tokens(0, null), "0 tokens");
  assert.equal(tokens(1200, 34), "1,234 tokens");
});

for (const [s, text] of [
  [0, "just now"],
  [-5, "just now"],
  [59, "just now"],
  [60, "1 minute ago"],
  [3599, "59 minutes ago"],
  [7200, "2 hours ago"],
  [6 * 86400, "6 days ago"],
] as const) {
  test(`${s} s are ${text}`, () => assert.equal(ago(1_700_000_000 - s, 1_700_000_000), text));
}

test("a time that is not known is left out, not a day of 1970", () => {
  assert.deepEqual(
    [null, undefined, 0, Number.NaN].map(time => ago(time)),
    ["", "", "", ""],
  );
});

test("what is more than a week ago is a date", () => {
  assert.match(ago(1_700_000_000, 1_700_000_000 + 8 * 86400), /^2023-11-1[45]$/);
});

for (const [ms, text] of FORMATS.durations as [number, string][]) {
  test(`${ms} ms lasted ${text}`, () => assert.equal(lasted(ms / 1000), text));
}

for (const [unixS, text] of FORMATS.days as [number, string][]) {
  test(`${unixS} is the day ${text}`, () => assert.equal(ago(unixS, unixS + 8 * 86400), text));
}

for (const [text, quoted] of [
  ["analyst", "analyst"],
  ["été_2.1-b", "été_2.1-b"],
  ["two words", '"two words"'],
  ['a "b" \\c', '"a \\"b\\" \\\\c"'],
  ["two\nlines", '"two lines"'],
  ["--delete", '"--delete"'],
  ["", '""'],
]) {
  test(`${JSON.stringify(text)} is the word ${quoted}`, () => assert.equal(word(text), quoted));
}
