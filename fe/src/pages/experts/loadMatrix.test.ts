import { expect, test } from "vitest";

import type { Table } from "../../api/types";
import { exchangeBars } from "./exchangeBars";
import { loadMatrix } from "./loadMatrix";

function table(keys: readonly string[], rows: readonly (readonly (string | number | null)[])[]): Table {
  const columns = keys.map((key) => ({ key, title: key, type: "string", unit: null, help: "" }));
  return { columns, rows, row_count: rows.length, null_reasons: {} } as unknown as Table;
}

const KEYS = ["stage", "layer", "direction", "worker", "tokens", "load_ratio"];

test("a row per layer, a column per rank", () => {
  const loads = table(KEYS, [
    [null, "pass 1", "", "a", 10, 0.5],
    [null, "pass 1", "", "b", 30, 1.5],
    [null, "pass 2", "", "a", 20, 1],
    [null, "pass 2", "", "b", null, null],
  ]);
  const { cells, arrangement } = loadMatrix(loads, "tokens", new Map([["b", 7]]));
  expect(arrangement.rows.labels).toEqual(["pass 1", "pass 2"]);
  expect(arrangement.columns.labels).toHaveLength(2);
  expect([...arrangement.cells]).toEqual([0, 1, 2, 3]);
  expect(cells.map(({ value }) => value)).toEqual([10, 30, 20, null]);
  expect(cells.map(({ rank }) => rank)).toEqual([null, 7, null, 7]);
  expect(cells.map(({ isOutlier }) => isOutlier)).toEqual([false, true, false, false]);
});

test("stages of a pipeline have rows and ranks of their own", () => {
  const loads = table(KEYS, [
    [0, "pass 1", "forward", "a", 1, 1],
    [0, "pass 1", "forward", "b", 2, 1],
    [1, "pass 1", "forward", "c", 3, 1],
    [1, "pass 1", "forward", "d", 4, 1],
  ]);
  const { arrangement } = loadMatrix(loads, "tokens", new Map());
  expect(arrangement.rows.labels).toEqual(["stage 0 · pass 1 · forward", "stage 1 · pass 1 · forward"]);
  expect([...arrangement.cells]).toEqual([0, 1, 2, 3]);
});

test("hidden is what is not exposed", () => {
  const ranks = table(
    ["worker", "rank", "dispatch_us", "dispatch_exposed_us", "combine_us", "combine_exposed_us"],
    [
      ["a", 0, 10, 4, 20, 20],
      ["b", null, 0, 0, 5, 0],
    ],
  );
  const { categories, lines } = exchangeBars(ranks);
  expect(categories).toEqual(["0", "b"]);
  expect(lines.map(({ values }) => values)).toEqual([
    [4, 0],
    [6, 0],
    [20, 0],
    [0, 5],
  ]);
});
