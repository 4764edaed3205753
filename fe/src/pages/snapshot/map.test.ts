import { expect, test } from "vitest";

import type { Table } from "../../api/types";
import { devicesOf, MAX_SEGMENTS, segmentsOf, stateClass } from "./map";

function table(keys: string[], rows: (string | number | null)[][]): Table {
  return { columns: keys.map((key) => ({ key })), rows } as unknown as Table;
}

const SEGMENTS = table(["segment", "device", "total_bytes", "used_pct"], [
  [0, "GPU 0", 100, 50],
  [1, "GPU 1", 300, null],
  [2, "GPU 0", 200, 10],
  [3, "GPU 0", 0, null],
]);
const BLOCKS = table(["segment", "offset_bytes", "size_bytes", "state"], [
  [0, 60, 40, "inactive"],
  [0, 0, 60, "active_allocated"],
  [2, null, 5, "inactive"],
]);

test("the largest segments come first, each with its blocks in order", () => {
  const segments = segmentsOf(SEGMENTS, BLOCKS, "GPU 0");
  expect(segments.map(({ number }) => number)).toEqual([2, 0]);
  expect(segments[1]?.blocks.map(({ offset, size }) => [offset, size])).toEqual([[0, 60], [60, 40]]);
  expect(segmentsOf(SEGMENTS, BLOCKS, null)[0]?.number).toBe(1);
});

test("only the largest of many segments are drawn", () => {
  const many = table(["segment", "device", "total_bytes", "used_pct"], Array.from({ length: 500 }, (_, index) => [index, "GPU 0", index + 1, 0]));
  expect(segmentsOf(many, BLOCKS, null)).toHaveLength(MAX_SEGMENTS);
});

test("devices and states", () => {
  expect(devicesOf(SEGMENTS)).toEqual(["GPU 0", "GPU 1"]);
  expect(["active_allocated", "inactive", "active_pending_free"].map(stateClass)).toEqual(["used", "free", "pending"]);
});
