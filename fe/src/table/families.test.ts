import { expect, it } from "vitest";

import type { Column, Table } from "../api/types";
import { PLAIN_COLUMN } from "../lib/columns";
import { cellText, columnViews } from "./columnView";
import { largestOfFamilies } from "./families";

const column = (key: string, family: string | null = null, unit: Column["unit"] = "us"): Column => ({ key, title: key, type: "number", unit, help: "", ...PLAIN_COLUMN, family });

it("takes the unit of the largest value of a family", () => {
  const columns = [column("mean_us", "duration"), column("min_us", "duration"), column("calls", "duration", "count"), column("start_us"), column("max_us", "duration")];
  expect(largestOfFamilies(columns, [5, 1, 9000, 70, 12])).toEqual([12, 12, 9000, 70, 12]);
});

it("has one unit for baseline, candidate and difference of a family", () => {
  const columns = [column("baseline_self_us", "time"), column("candidate_self_us"), column("delta_self_us"), column("baseline_total_us", "time"), column("candidate_total_us"), column("delta_total_pct", null, "pct"), column("delta_total_us")];
  expect(largestOfFamilies(columns, [1, 2, 3, 40, 50, 999, 60])).toEqual([60, 60, 60, 60, 60, 999, 60]);
});

function shown(values: readonly (readonly [string, number])[]): string[] {
  const columns = values.map(([key]) => column(key, "duration"));
  const row = values.map(([, value]) => value);
  const table = { columns, rows: [row], null_reasons: {}, tree: null } as unknown as Table;
  return columnViews(table, false).map((view, index) => `${cellText(view, row[index] ?? null)} ${view.scale.label}`);
}

it("shows mean, shortest and longest in one unit, each with its own digits", () => {
  expect(shown([["mean_us", 1234], ["min_us", 12.3456], ["max_us", 20_500]])).toEqual(["1.234 ms", "0.01235 ms", "20.50 ms"]);
  expect(shown([["self_us", 0.5], ["total_us", 2_345_678]])).toEqual(["500.00 ns", "2.346 s"]);
  expect(shown([["self_us", 0], ["total_us", 2_345_678]])).toEqual(["0 µs", "2.346 s"]);
});

it("takes the unit of the shown columns", () => {
  const columns = [column("total_us", "sum"), column("gaps_us", "sum")];
  const table = { columns, rows: [[98.7, 4000]], null_reasons: {}, tree: null } as unknown as Table;
  const labels = (hidden: readonly string[]) => columnViews(table, false, "short", new Set(hidden)).map(({ scale }) => scale.label);
  expect(labels([])).toEqual(["ms", "ms"]);
  expect(labels(["gaps_us"])).toEqual(["µs", "ms"]);
});
