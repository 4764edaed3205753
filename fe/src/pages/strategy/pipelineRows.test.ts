/** Rows of a pipeline: by stage, in order, whatever the order of the table. */
import { expect, it } from "vitest";

import type { Table } from "../../api/types";
import { blockAt, pipelineRows } from "./pipelineRows";

const KEYS = ["step", "stage", "rank", "worker", "chunk", "kind", "microbatch", "start_us", "duration_us"];
const table = (rows: readonly (readonly (string | number | null)[])[]): Table => ({ columns: KEYS.map((key) => ({ key })), rows }) as unknown as Table;

const PIPELINE = table([
  ["7", 1, 5, "b", null, "forward", 0, 10, 10],
  ["7", 0, 1, "a", null, "backward", 0, 40, 20],
  ["7", 0, 1, "a", null, "forward", 0, 0, 10],
]);

it("has a row per stage with its blocks by start", () => {
  const { step, stages, endUs } = pipelineRows(PIPELINE);
  expect([step, endUs]).toEqual(["7", 60]);
  expect(stages.map(({ stage, rank }) => [stage, rank])).toEqual([
    [0, 1],
    [1, 5],
  ]);
  expect(stages[0]?.blocks.map(({ kind, startUs, endUs: end }) => [kind, startUs, end])).toEqual([
    ["forward", 0, 10],
    ["backward", 40, 60],
  ]);
});

it("finds the block under a time, and none in a bubble", () => {
  const [row] = pipelineRows(PIPELINE).stages;
  if (row === undefined) throw new Error("no row");
  expect(blockAt(row, 5)?.kind).toBe("forward");
  expect(blockAt(row, 10)).toBeNull();
  expect(blockAt(row, 59)?.kind).toBe("backward");
});

it("is empty without passes", () => {
  expect(pipelineRows(table([]))).toEqual({ step: "", stages: [], endUs: 0 });
});
