import { expect, it } from "vitest";

import type { Column, Scalar, Table } from "../api/types";
import { boundKeys, boundsOf, boundsText, boundsTitle, isBound } from "./bounds";
import { PLAIN_COLUMN, PLAIN_TABLE } from "./columns";

const column = (key: string): Column => ({ key, title: key, type: "number", unit: "pct", help: "", ...PLAIN_COLUMN });
const table = (keys: readonly string[], row: readonly Scalar[]): Table => ({
  title: "",
  help: "",
  columns: keys.map(column),
  rows: [[...row]],
  row_count: 1,
  null_reasons: {},
  sort: "",
  ...PLAIN_TABLE,
});
const KEYS = ["gpu", "tensor_core_time_pct", "tensor_core_time_min_pct", "tensor_core_time_max_pct"];

it("reads the bounds of a share from their columns", () => {
  const known = table(KEYS, [0, null, 11.48, 87.71]);
  const bounds = boundsOf(known, known.rows[0] ?? [], "tensor_core_time_pct");
  expect(bounds).toEqual({ min: 11.48, max: 87.71 });
  expect(boundsText({ min: 11.48, max: 87.71 })).toBe("11.5–87.7");
  expect(boundsTitle({ min: 0, max: 92.4 })).toBe("At least 0.0 %, at most 92.4 %; the rest is unknown.");
  expect(boundKeys("x_pct")).toEqual({ min: "x_min_pct", max: "x_max_pct" });
});

it("returns none where there are none", () => {
  const unknown = table(KEYS, [0, null, null, null]);
  expect(boundsOf(unknown, unknown.rows[0] ?? [], "tensor_core_time_pct")).toBeNull();
  expect(boundsOf(unknown, unknown.rows[0] ?? [], "tensor_core_time_min_pct")).toBeNull();
  expect(boundsOf(unknown, unknown.rows[0] ?? [], "gpu")).toBeNull();
  const alone = table(["utilization_pct"], [50]);
  expect(boundsOf(alone, alone.rows[0] ?? [], "utilization_pct")).toBeNull();
});

it("detects columns that only bound another one", () => {
  expect(KEYS.map((key) => isBound(table(KEYS, []), key))).toEqual([false, false, true, true]);
  expect(isBound(table(["load_min_pct"], []), "load_min_pct"), "there is nothing it bounds").toBe(false);
});
