/** Cases: only the column that opens rows is wider than its text, in a tree by the depth of each row too. */
import { expect, it } from "vitest";

import type { Column, Table } from "../api/types";
import { PLAIN_COLUMN, PLAIN_TABLE } from "../lib/columns";
import { columnViews, isRate } from "./columnView";

const column = (key: string, type: Column["type"]): Column => ({ key, title: key, type, unit: null, help: "", ...PLAIN_COLUMN });
const TEXT = "a sentence of some length";
const TABLE: Table = {
  title: "",
  help: "",
  columns: [column("place", "integer"), column("name", "string"), column("reason", "string")],
  rows: [[1, TEXT, TEXT]],
  row_count: 1,
  null_reasons: {},
  sort: "",
  ...PLAIN_TABLE,
};

it("adds room for the opener to the first text only", () => {
  const [, name, reason] = columnViews(TABLE, true).map(({ idealWidth }) => idealWidth);
  expect((name ?? 0) - (reason ?? 0)).toBe(60);
  expect(columnViews(TABLE, false)[1]?.idealWidth).toBe(reason);
  expect(reason).toBeGreaterThanOrEqual(TEXT.length * 7);
});

it("adds it to the first shown text, with room for the indentation of a tree", () => {
  const columns = [column("path", "string"), column("name", "string"), column("parent", "string")];
  const rows = ["a", "a/b", "a/b/c"].map((path, depth, paths) => [path, TEXT, paths[depth - 1] ?? null]);
  const tree: Table = { ...TABLE, columns, rows, row_count: 3, tree: { id: "path", parent: "parent" } };
  const width = (table: Table) => columnViews(table, true, "short", new Set(["path", "parent"]))[1]?.idealWidth ?? 0;
  const [, , reason] = columnViews(TABLE, true).map(({ idealWidth }) => idealWidth);
  expect(width({ ...tree, tree: null }) - (reason ?? 0)).toBe(60);
  expect(width(tree) - (reason ?? 0)).toBe(60 + 2 * 14);
});

it("knows where higher is better", () => {
  expect(["delta_rate_pct", "delta_rate_per_s", "delta_mean_pct", "rate_gb_per_s"].map((key) => isRate(column(key, "number")))).toEqual([true, true, false, false]);
});
