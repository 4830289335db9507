import assert from "node:assert/strict";
import { test } from "node:test";
import { type INode, type ISession, tree } from "../src/state";

const sessions = (...all: [string, number][]) => all.map(([session_id, depth]) => ({ session_id, depth }) as ISession);
const shape = (nodes: INode[]): unknown[] => nodes.map(node => [node.session.session_id, ...shape(node.forks)]);

test("a fork stands below the session that it is of", () => {
  const made = tree(sessions(["a", 0], ["a1", 1], ["a11", 2], ["a2", 1], ["b", 0], ["b1", 1]));
  assert.deepEqual(shape(made), [
    ["a", ["a1", ["a11"]], ["a2"]],
    ["b", ["b1"]],
  ]);
});

test("a fork whose parent is not in the list is a root", () => {
  assert.deepEqual(shape(tree(sessions(["x", 1], ["y", 0]))), [["x"], ["y"]]);
});

test("no session is no tree", () => assert.deepEqual(tree([]), []));
