import { expect, test } from "vitest";

import type { Row, Table } from "../../api/types";
import { partsOf } from "./mindSporeParts";

const KEYS = ["part", "item", "kind", "time_us", "count", "pct"];

function tableOf(rows: readonly Row[]): Table {
  return { columns: KEYS.map((key) => ({ key })), rows } as unknown as Table;
}

test("figures of each part say their number, time and share, where they have one", () => {
  const parts = partsOf(
    tableOf([
      ["step_trace", "Mean step", "whole", 205_380.93, 322, null],
      ["step_trace", "Interval", "share", 203.84, null, 0.099],
      ["step_trace", "Tail", "share", 87_123.14, null, 42.42],
      ["timeline", "Streams", "figure", null, 11, null],
      ["timeline", "Calls", "figure", 1_771_382.85, 2817, null],
      ["data_preparation", "Emptiest queue", "figure", null, null, 31.25],
    ]),
  );
  expect(parts["step_trace"]?.map(({ item, text }) => [item, text])).toEqual([
    ["Mean step", "205 ms"],
    ["Interval", "204 µs · 0.1 %"],
    ["Tail", "87.1 ms · 42.4 %"],
  ]);
  expect(parts["timeline"]?.map(({ text }) => text)).toEqual(["11", "2\u202f817 · 1.77 s"]);
  expect(parts["data_preparation"]?.[0]?.text).toBe("31.3 %");
});

test("shares have the colours of their parts, others colours that are not taken", () => {
  const { step_trace: steps = [], operators = [] } = partsOf(
    tableOf([
      ["step_trace", "Mean step", "whole", 3, 1, null],
      ["step_trace", "Interval", "share", 1, null, 33],
      ["step_trace", "Forward and Backward", "share", 2, null, 67],
      ["operators", "MatMul", "share", 1, 1, 50],
      ["operators", "Cast", "share", 1, 1, 50],
    ]),
  );
  expect(steps.map(({ color }) => color)).toEqual(["", "--cat-dataloader", "--cat-kernel"]);
  expect(new Set(operators.map(({ color }) => color)).size).toBe(2);
});
