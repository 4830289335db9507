import assert from "node:assert/strict";
import { test } from "node:test";
import FORMATS from "../../../tests/golden/formats.json";
import { formatSeconds, formatTokens } from "../src/shared/format.js";
import { tickLabel } from "../src/timeline/format.js";

for (const [ms, text] of FORMATS.durations) {
  test(`${ms} ms are ${text}`, () => assert.equal(formatSeconds(ms / 1000), text));
}

for (const [sent, got, cached, text] of FORMATS.tokens) {
  test(`${sent}, ${got} and ${cached} are ${text}`, () => assert.equal(formatTokens(sent, got, cached), text));
}

for (const [t, step, text] of [
  [0, 1, "0"],
  [0.0000123, 1e-6, "0.012 ms"],
  [0.00025, 5e-5, "0.25 ms"],
  [0.25, 0.05, "250 ms"],
  [1.25, 0.05, "1.25 s"],
  [1.5, 0.5, "1.5 s"],
  [90, 30, "90 s"],
  [120, 60, "2 min"],
  [150, 30, "2:30 min"],
  [3660, 60, "1:01 h"],
  [190800, 3600, "2 d 5 h"],
]) {
  test(`the ruler says ${text} at ${t} s, in steps of ${step} s`, () => assert.equal(tickLabel(t, step), text));
}
