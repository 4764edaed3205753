import { expect, test } from "vitest";

import type { Scalar, Table } from "../../api/types";
import { PLAIN_COLUMN, PLAIN_TABLE } from "../../lib/columns";
import { firstMeasure, matrixRanks, measuresOf } from "./matrix";

function table(columns: Readonly<Record<string, "string" | "number" | "integer">>, rows: readonly (readonly Scalar[])[]): Table {
  return {
    title: "",
    help: "",
    columns: Object.entries(columns).map(([key, type]) => ({ key, title: key, type, unit: null, help: "", ...PLAIN_COLUMN })),
    rows: rows.map((row) => [...row]),
    row_count: rows.length,
    null_reasons: {},
    sort: "",
    ...PLAIN_TABLE,
  };
}

const RANKS = table({ worker: "string", rank: "integer", node: "string", step_us: "number", memory_peak_bytes: "integer", computation_us: "number", pipeline: "integer" }, [
  ["w0", 0, "n0", 5, null, 1, 0],
  ["w1", 1, null, 6, null, 9, 1],
]);
const OUTLIERS = table({ worker: "string", column: "string" }, [["w1", "computation_us"]]);

test("measures are the numbers that some rank has", () => {
  expect(measuresOf(RANKS).map(({ key }) => key)).toEqual(["step_us", "computation_us"]);
});

test("the measure in which ranks stand out is shown first", () => {
  const measures = measuresOf(RANKS);
  expect(firstMeasure(measures, OUTLIERS)?.key).toBe("computation_us");
  expect(firstMeasure(measures, undefined)?.key).toBe("step_us");
  expect(firstMeasure([], OUTLIERS)).toBeUndefined();
});

test("ranks stand out in the shown measure only", () => {
  expect(matrixRanks(RANKS, "computation_us", OUTLIERS)).toEqual([
    { worker: "w0", rank: 0, value: 1, isOutlier: false, node: "n0", coordinates: { pipeline: 0 } },
    { worker: "w1", rank: 1, value: 9, isOutlier: true, node: null, coordinates: { pipeline: 1 } },
  ]);
  expect(matrixRanks(RANKS, "step_us", OUTLIERS).some(({ isOutlier }) => isOutlier)).toBe(false);
});
