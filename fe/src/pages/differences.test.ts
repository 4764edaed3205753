import { expect, it } from "vitest";

import type { Row, Table } from "../api/types";
import { PLAIN_COLUMN } from "../lib/columns";
import { nothingDiffers, surroundingsOf } from "./differences";

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

it("parts what differs, what is not known and what is equal", () => {
  const { differing, unknown, same } = surroundingsOf(tableOf(AROUND, [DEVICE, HOST, WORLD, BATCH]));
  expect(differing.map(({ what, isWarning }) => [what, isWarning])).toEqual([
    ["Device", true],
    ["Host", false],
  ]);
  expect(unknown.map(({ what, baseline, reason }) => [what, baseline, reason])).toEqual([["World size", "", "Baseline: not recorded."]]);
  expect(same.map(({ what }) => what)).toEqual(["Batch"]);
});

it("shows damage that both sides have", () => {
  expect(surroundingsOf(tableOf(AROUND, [DAMAGE, BATCH])).differing.map(({ what }) => what)).toEqual(["Damage"]);
});

it("says that nothing differs only where nothing does", () => {
  const equal = surroundingsOf(tableOf(AROUND, [WORLD, BATCH]));
  const parts = (delta: number) => tableOf(["delta_time_us"], [[0], [delta]]);
  expect(nothingDiffers(equal, parts(0), 0)).toBe(true);
  expect(nothingDiffers(equal, parts(1), 0)).toBe(false);
  expect(nothingDiffers(equal, parts(0), 1)).toBe(false);
  expect(nothingDiffers(equal, parts(0), null)).toBe(false);
  expect(nothingDiffers(surroundingsOf(tableOf(AROUND, [HOST])), parts(0), 0)).toBe(false);
});
