import { expect, it } from "vitest";

import type { Column, Row, Table } from "../api/types";
import { PLAIN_COLUMN, PLAIN_TABLE } from "../lib/columns";
import { stepChart, stepsInRange } from "./steps";

const column = (key: string, unit: Column["unit"]): Column => ({ key, title: key, type: "number", unit, help: "", ...PLAIN_COLUMN });

function steps(names: readonly string[]): Table {
  const rows = names.map((name, index): Row => [name, 100, index, null, 0]);
  return {
    title: "Steps",
    help: "",
    columns: [column("step", null), column("total_us", "us"), column("kernel_us", "us"), column("memcpy_us", "us"), column("other_us", "us")],
    rows: rows.map((row) => [...row]),
    row_count: rows.length,
    null_reasons: {},
    sort: "",
    ...PLAIN_TABLE,
  };
}

it("stacks the categories that took time, without the total", () => {
  const chart = stepChart(steps(["5", "6"]));
  expect(chart.categories).toEqual(["5", "6"]);
  expect(chart.lines).toEqual([{ name: "kernel_us", values: [0, 1] }]);
});

it("selects a range of numbers, or names one by one", () => {
  expect(stepsInRange(steps(["5", "6", "7"]), { start: 0, end: 1 })).toBe("5:6");
  expect(stepsInRange(steps(["5", "6", "7"]), { start: 2, end: 2 })).toBe("7");
  expect(stepsInRange(steps(["5", "4"]), { start: 0, end: 1 })).toBe("5,4");
  expect(stepsInRange(steps(["a", "b"]), { start: 0, end: 1 })).toBe("a,b");
});
