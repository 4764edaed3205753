import { expect, it } from "vitest";

import type { Column, Row, Table } from "../api/types";
import { PLAIN_COLUMN } from "../lib/columns";
import { Tree } from "./tree";

const column = (key: string): Column => ({ key, title: key, type: "string", unit: null, help: "", ...PLAIN_COLUMN });

function table(rows: Row[]): Table {
  return {
    title: "",
    help: "",
    columns: [column("path"), column("parent")],
    rows: rows.map((row) => [...row]),
    row_count: rows.length,
    null_reasons: {},
    sort: "",
    why_empty: null,
    help_url: null,
    tree: { id: "path", parent: "parent" },
  };
}

const KEYS = { id: "path", parent: "parent" };
const TABLE = table([
  ["a", null],
  ["a/x", "a"],
  ["a/x/1", "a/x"],
  ["b", null],
  ["c", "gone"],
]);
const drawn = (tree: Tree, rows: readonly Row[], closed: readonly string[] = []) =>
  tree.flatten(rows, (id) => !closed.includes(id)).map(({ id, depth, hasChildren }) => `${"  ".repeat(depth)}${id}${hasChildren ? " +" : ""}`);

it("lists parents before children; a row without its parent is a root", () => {
  expect(drawn(new Tree(TABLE, KEYS), TABLE.rows)).toEqual(["a +", "  a/x +", "    a/x/1", "b", "c"]);
});

it("hides the children of closed rows", () => {
  expect(drawn(new Tree(TABLE, KEYS), TABLE.rows, ["a"])).toEqual(["a +", "b", "c"]);
});

it("shows the ancestors of a matching row, and nothing else", () => {
  expect(drawn(new Tree(TABLE, KEYS), [["a/x/1", "a/x"]])).toEqual(["a +", "  a/x +", "    a/x/1"]);
});

it("follows the order of the rows", () => {
  expect(drawn(new Tree(TABLE, KEYS), [...TABLE.rows].reverse())).toEqual(["c", "b", "a +", "  a/x +", "    a/x/1"]);
});

it("terminates on a cycle", () => {
  const circle = table([
    ["a", "b"],
    ["b", "a"],
    ["c", null],
  ]);
  expect(drawn(new Tree(circle, KEYS), circle.rows)).toEqual(["c"]);
});

it("handles deep trees", () => {
  const rows: Row[] = Array.from({ length: 20_000 }, (_, index) => [`n${index}`, index === 0 ? null : `n${index - 1}`]);
  expect(drawn(new Tree(table(rows), KEYS), rows)).toHaveLength(20_000);
});
