import { expect, it } from "vitest";

import type { Row, Table } from "../../api/types";
import { PLAIN_COLUMN } from "../../lib/columns";
import { isIdentical, environmentOf } from "./environment";

const AROUND = ["what", "baseline", "candidate", "same", "reason", "why", "severity", "kind"];

function tableOf(keys: readonly string[], rows: Row[]): Table {
  const columns = keys.map((key) => ({ key, title: key, type: "string" as const, unit: null, help: "", ...PLAIN_COLUMN }));
  return { title: "", help: "", columns, rows, row_count: rows.length, null_reasons: {}, sort: "", tree: null, why_empty: null, sums: [] } as unknown as Table;
}

const DEVICE: Row = ["Device", "V100", "A100", false, null, "clocks", "warning", "device"];
const HOST: Row = ["Host", "a", "b", false, null, "neighbours", null, "host"];
const WORLD: Row = ["World size", null, "8", null, "Baseline: not recorded.", "parts", null, "world_size"];
const BATCH: Row = ["Batch", "32", "32", true, null, "work", null, "batch"];
const DAMAGE: Row = ["Damage", "truncated", "truncated", true, null, "sums", "warning", "quality"];

it("separates differing, unknown and equal rows", () => {
  const { differing, unknown, same } = environmentOf(tableOf(AROUND, [DEVICE, HOST, WORLD, BATCH]));
  expect(differing.map(({ aspect, isWarning }) => [aspect, isWarning])).toEqual([
    ["Device", true],
    ["Host", false],
  ]);
  expect(unknown.map(({ aspect, baseline, reason }) => [aspect, baseline, reason])).toEqual([["World size", "", "Baseline: not recorded."]]);
  expect(same.map(({ aspect }) => aspect)).toEqual(["Batch"]);
});

it("shows file problems that both sides have", () => {
  expect(environmentOf(tableOf(AROUND, [DAMAGE, BATCH])).differing.map(({ aspect }) => aspect)).toEqual(["Damage"]);
});

it("reports equality only where every row is equal", () => {
  const equal = environmentOf(tableOf(AROUND, [WORLD, BATCH]));
  const parts = (delta: number) => tableOf(["delta_time_us"], [[0], [delta]]);
  expect(isIdentical(equal, parts(0), 0)).toBe(true);
  expect(isIdentical(equal, parts(1), 0)).toBe(false);
  expect(isIdentical(equal, parts(0), 1)).toBe(false);
  expect(isIdentical(equal, parts(0), null)).toBe(false);
  expect(isIdentical(environmentOf(tableOf(AROUND, [HOST])), parts(0), 0)).toBe(false);
});
