import { expect, it } from "vitest";

import type { Column, Table } from "../../api/types";
import { PLAIN_COLUMN, PLAIN_TABLE } from "../../lib/columns";
import { barsOf, barsShown, edgeX, iterationAt, nearestEdge, ticksUpTo, withoutParts } from "./bars";

const KEYS = ["iteration", "duration_us", "tensor_core_us", "memory_us", "cpu_us", "selected"];
const column = (key: string): Column => ({ key, title: key, type: "number", unit: null, help: "", ...PLAIN_COLUMN });
const TABLE: Table = {
  title: "Iterations",
  help: "",
  columns: KEYS.map(column),
  rows: [
    ["3", 10, 4, null, 6, false],
    ["4", 20, 15, null, 5, true],
  ],
  row_count: 2,
  null_reasons: {},
  sort: "",
  ...PLAIN_TABLE,
};

it("stacks the parts that take time", () => {
  const bars = barsOf(TABLE);
  expect(bars.names).toEqual(["3", "4"]);
  expect(bars.parts.map(({ key, values }) => [key, [...values]])).toEqual([
    ["tensor_core_us", [4, 15]],
    ["cpu_us", [6, 5]],
  ]);
  expect([...bars.total]).toEqual([10, 20]);
  expect([...bars.selected]).toEqual([0, 1]);
});

it("shows each iteration where there is room, else the longest of those that share a pixel", () => {
  const total = Float64Array.from({ length: 10_000 }, (_, index) => (index === 7777 ? 99 : 1 + (index % 7)));
  expect([...barsShown(total, { from: 2, to: 5, widthPx: 300 })]).toEqual([2, 3, 4]);
  const shown = barsShown(total, { from: 0, to: 10_000, widthPx: 1000.5 });
  expect(shown).toHaveLength(1000);
  expect(shown).toContain(7777);
  shown.forEach((each, bar) => {
    const group = total.slice(bar * 10, bar * 10 + 10);
    expect(Math.floor(each / 10)).toBe(bar);
    expect(total[each]).toBe(Math.max(...group));
  });
  expect(barsShown(total, { from: 4, to: 4, widthPx: 300 })).toHaveLength(0);
});

it("snaps a boundary to the nearest edge, and returns the iteration at a position", () => {
  const window = { from: 10, to: 14, widthPx: 400 };
  expect([0, 49, 51, 149, 400, -9, 999].map((x) => nearestEdge(x, window))).toEqual([10, 10, 11, 11, 14, 10, 14]);
  expect([0, 99, 100, 399, 400, -9].map((x) => iterationAt(x, window))).toEqual([10, 10, 11, 13, 13, 10]);
  for (let edge = 10; edge <= 14; edge++) expect(nearestEdge(edgeX(edge, window), window)).toBe(edge);
});

it("marks round values", () => {
  expect(ticksUpTo(9, 4)).toEqual([0, 5]);
  expect(ticksUpTo(8, 4)).toEqual([0, 2, 4, 6, 8]);
  expect(ticksUpTo(0, 4)).toEqual([0]);
});

it("hides parts: iterations are as long as what is left", () => {
  const values = (...each: number[]) => Float64Array.from(each);
  const part = (title: string, ...each: number[]) => ({ key: title, title, color: "", values: values(...each) });
  const bars = { names: ["1", "2"], parts: [part("kernels", 3, 4), part("CPU", 6, 1)], total: values(10, 8), selected: Uint8Array.of(1, 1) };
  expect(withoutParts(bars, new Set())).toBe(bars);
  const left = withoutParts(bars, new Set(["CPU"]));
  expect([left.parts.map(({ title }) => title), [...left.total]]).toEqual([["kernels"], [3, 4]]);
  expect([...withoutParts(bars, new Set(["CPU", "kernels"])).total]).toEqual([0, 0]);
});
