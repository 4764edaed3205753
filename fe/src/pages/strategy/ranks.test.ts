/** Ranks and measures from the rows of a table. */
import { expect, it } from "vitest";

import type { Table } from "../../api/types";
import { matrixRanks, measuresOf } from "./ranks";

const KEYS = ["worker", "rank", "node", "pipeline", "data", "context", "expert", "tensor", "computation_us", "wait_us", "busy_pct", "is_outlier"];
const TABLE = {
  columns: KEYS.map((key) => ({ key })),
  rows: [
    ["a", 0, "n0", 0, null, null, 0, 1, 12.5, null, 80, false],
    ["b", 1, null, 1, null, null, 1, 0, null, null, 70, true],
  ],
} as unknown as Table;

it("measures are the columns with values that are no coordinates", () => {
  expect([...measuresOf(TABLE).keys()]).toEqual(["computation", "busy"]);
});

it("a rank has its value, its coordinates and its mark", () => {
  const [first, second] = matrixRanks(TABLE, "computation_us");
  expect(first).toEqual({ worker: "a", rank: 0, value: 12.5, isOutlier: false, node: "n0", coordinates: { pipeline: 0, data: null, context: null, tensor: 1 } });
  expect([second?.value, second?.node, second?.isOutlier]).toEqual([null, null, true]);
});
