import { expect, test } from "vitest";

import type { Table } from "../../api/types";
import { PLAIN_COLUMN } from "../../lib/columns";
import { recordedStepDiagram, stepDiagram, undividedStepDiagram } from "./stepParts";

const KEYS = ["interval_us", "forward_us", "backward_us", "communication_hidden_us", "communication_exposed_us", "tail_us", "communication_tail_us"];

function table(values: readonly (number | null)[], reasons: Record<string, string> = {}): Table {
  const keys = ["step", ...KEYS, ...KEYS.map((key) => key.replace("_us", "_pct")), "total_us"];
  const columns = keys.map((key) => ({ key, title: key, type: "number" as const, unit: null, help: "", ...PLAIN_COLUMN }));
  return { columns, rows: [["1", ...values, ...values, 100]], null_reasons: reasons } as unknown as Table;
}

test("parts are in order of time, collectives between the boundaries of the passes", () => {
  const phases = table([10, 30, 40, 5, 15, 20, 8]);
  const diagram = stepDiagram(phases, phases.rows[0] ?? []);
  expect(diagram.parts.map(({ key, us }) => [key, us])).toEqual([
    ["interval_us", 10],
    ["forward_us", 30],
    ["backward_us", 40],
    ["tail_us", 20],
  ]);
  expect(diagram.passes).toEqual({ from: 10, to: 80 });
  expect([...diagram.inside, ...diagram.after].map(({ pct }) => pct)).toEqual([5, 15, 8]);
  expect(diagram.totalUs).toBe(100);
});

test("an unknown part has its reason and no width", () => {
  const phases = table([10, 30, null, 0, 0, 60, 0], { backward_us: "inference" });
  const diagram = stepDiagram(phases, phases.rows[0] ?? []);
  expect(diagram.passes).toEqual({ from: 10, to: 40 });
  expect(diagram.parts[2]).toMatchObject({ us: null, pct: null, reason: "inference" });
});

test("a recorded step has its passes together, and its collectives from their beginning on", () => {
  const keys = ["step", "total_us", "interval_us", "forward_backward_us", "tail_us", "communication_us"];
  const columns = keys.map((key) => ({ key, title: key, type: "number" as const, unit: null, help: "", ...PLAIN_COLUMN }));
  const recorded = { columns, rows: [["mean", 200, 20, 120, 60, 90]], null_reasons: {} } as unknown as Table;
  const diagram = recordedStepDiagram(recorded, recorded.rows[0] ?? []);
  expect(diagram.parts.map(({ us, pct }) => [us, pct])).toEqual([
    [20, 10],
    [120, 60],
    [60, 30],
  ]);
  expect(diagram.inside.map(({ us, pct }) => [us, pct])).toEqual([[90, 45]]);
  expect(diagram.passes).toEqual({ from: 10, to: 100 });
});

test("passes that nothing divides are one part", () => {
  const phases = table([10, 70, null, 5, 15, 20, 8], { backward_us: "unknown" });
  const diagram = undividedStepDiagram(phases, phases.rows[0] ?? []);
  expect(diagram.parts.map(({ title, us }) => [title, us])).toEqual([
    ["interval_us", 10],
    ["Forward and Backward", 70],
    ["tail_us", 20],
  ]);
  expect(diagram.passes).toEqual({ from: 10, to: 80 });
});
