import { describe, expect, it } from "vitest";

import type { Row, Table } from "../../api/types";
import { PLAIN_COLUMN, PLAIN_TABLE } from "../../lib/columns";
import { MAX_OPERATIONS, pipelineTree } from "./pipelineTree";

const KEYS = ["operation", "type", "parent", "workers", "queue_pct", "queue_mean", "queue_capacity", "bottleneck", "time_mean_us", "busy_pct"];

function table(rows: readonly Row[]): Table {
  const columns = KEYS.map((key) => ({ key, title: key, type: "string" as const, unit: null, help: "", ...PLAIN_COLUMN }));
  return { ...PLAIN_TABLE, title: "", help: "", null_reasons: {}, sort: "", columns, rows: rows.map((row) => [...row]), row_count: rows.length };
}

describe("a pipeline as a tree", () => {
  it("has the inputs of an operation inside it", () => {
    const [last, ...others] = pipelineTree(
      table([
        ["0", "Batch", null, 4, null, null, null, false],
        ["1", "Shuffle", "0", 1, 15.6, 10, 64, true],
        ["2", "TFReader", "1", 4, 93.8, 60, 64, false],
        ["3", "TFReader", "1", 4, 93.8, 60, 64, false],
      ]),
    );
    expect(others).toEqual([]);
    expect(last?.type).toBe("Batch");
    expect(last?.queuePct).toBeNull();
    expect(last?.inputs[0]?.isBottleneck).toBe(true);
    expect(last?.inputs[0]?.inputs.map(({ id }) => id)).toEqual(["2", "3"]);
  });

  it("has the stages of each loader, with their inputs", () => {
    const stage = (id: string, parent: Row[number], time: number): Row => [id, "fetch", parent, 2, null, null, null, false, time, 40];
    const last = pipelineTree(
      table([stage("loader 0, training: steps", null, 5000), stage("loader 0, training: fetch", "loader 0, training: steps", 2000), stage("loader 1, evaluation: steps", null, 1)]),
    );
    expect(last.map(({ loader }) => loader)).toEqual(["loader 0, training", "loader 1, evaluation"]);
    expect(last[0]?.inputs.map(({ timeUs, busyPct }) => [timeUs, busyPct])).toEqual([[2000, 40]]);
  });

  it("is empty for rows that do not form a tree", () => {
    const many = Array.from({ length: MAX_OPERATIONS + 1 }, (_, n): Row => [String(n), "Map", null, 1, 1, 1, 1, false]);
    expect(pipelineTree(table(many))).toEqual([]);
    const deep = Array.from({ length: 40 }, (_, n): Row => [String(n), "Map", n === 0 ? null : String(n - 1), 1, 1, 1, 1, false]);
    expect(pipelineTree(table(deep))).toEqual([]);
  });
});
