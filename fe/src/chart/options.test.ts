import { expect, it } from "vitest";

import type { ChartColors } from "./colors";
import { chartOptions } from "./options";
import type { CurveChart } from "./types";

const COLORS = { color: ()  => "", text: "", soft: "", surface: "", line: "" } as unknown as ChartColors;

function xAxis(x: readonly number[], unit: CurveChart["x"]["unit"]) {
  const chart: CurveChart = { kind: "line", x: { title: "Step", unit }, y: { title: "Time", unit: "us" }, lines: [{ name: "Forward", x, y: x }], marks: [] };
  return chartOptions(chart, { hidden: new Set(), colors: COLORS, widthPx: 800 })["xAxis"] as { minInterval?: number; axisLabel: { showMinLabel?: boolean } };
}

it("marks no step between two steps, and the first and last of them", () => {
  expect(xAxis([2, 3], null).minInterval).toBe(1);
  expect(xAxis([2, 3], null).axisLabel.showMinLabel).toBeUndefined();
});

it("marks any time", () => {
  expect(xAxis([0, 1], "us").minInterval).toBeUndefined();
  expect(xAxis([0.5, 1], null).minInterval).toBeUndefined();
});

it("draws isolated points as dots", () => {
  const data = (y: readonly (number | null)[]) => {
    const chart: CurveChart = { kind: "stair", x: { title: "Batch", unit: null }, y: { title: "Batches", unit: "count" }, lines: [{ name: "Host queue", x: y.map((_, index) => index), y }], marks: [] };
    return (chartOptions(chart, { hidden: new Set(), colors: COLORS, widthPx: 800 })["series"] as { data: unknown[] }[])[0]?.data;
  };
  const dot = { symbol: "circle", symbolSize: 6 };
  expect(data([3])).toEqual([{ value: [0, 3], ...dot }]);
  expect(data([3, 4, null, 5])).toEqual([[0, 3], [1, 4], [2, null], { value: [3, 5], ...dot }]);
});

it("marks moments over the whole height, with names where there is room", () => {
  const line = (count: number) => {
    const verticals = Array.from({ length: count }, (_, index) => ({ x: index, label: `Step ${index}` }));
    const range = { start: 0, end: count };
    const chart: CurveChart = { kind: "line", x: { title: "Time", unit: "us" }, y: { title: "Use", unit: "pct" }, lines: [{ name: "CPU", x: [0, 1], y: [1, 2] }], marks: [], verticals, range };
    const options = chartOptions(chart, { hidden: new Set(), colors: COLORS, widthPx: 800 });
    return (options["series"] as { markLine?: { data: { label: { show: boolean; align: string } }[] } }[])[0]?.markLine?.data;
  };
  const named = (count: number) => line(count)?.flatMap(({ label }, index) => (label.show ? [index] : []));
  expect(line(0)).toBeUndefined();
  expect(named(3), "none that would stand before the axis").toEqual([1, 2]);
  expect(line(50)).toHaveLength(50);
  expect(named(50)?.slice(0, 3), "each that does not touch the one before").toEqual([2, 6, 10]);
});

it("writes the name of a moment at the right edge left of its line, where it has room", () => {
  const lines = [{ name: "allocated", x: [0, 10], y: [1, 2] }];
  const verticals = [{ x: 5, label: "chosen" }, { x: 10, label: "out of memory" }];
  const chart: CurveChart = { kind: "stair", x: { title: "Time", unit: "us" }, y: { title: "Memory", unit: "bytes" }, lines, marks: [], verticals };
  const options = chartOptions(chart, { hidden: new Set(), colors: COLORS, widthPx: 800 });
  const labels = (options["series"] as { markLine?: { data: { label: { show: boolean; align: string } }[] } }[])[0]?.markLine?.data.map(({ label }) => label);
  expect(labels).toEqual([{ show: true, align: "center" }, { show: true, align: "right" }]);
});

it("uses one unit of time for charts with one range", () => {
  const titleOf = (end: number) => {
    const chart: CurveChart = { kind: "line", x: { title: "Time", unit: "us" }, y: { title: "Use", unit: "pct" }, lines: [{ name: "CPU", x: [0, end], y: [1, 2] }], marks: [], range: { start: 0, end: 2e6 } };
    return (chartOptions(chart, { hidden: new Set(), colors: COLORS, widthPx: 800 })["xAxis"] as { name: string }).name;
  };
  expect(titleOf(900)).toBe(titleOf(2e6));
});

it("dashes lines that are limits", () => {
  const line = (name: string) => ({ name, x: [0, 1], y: [1, 2] });
  const chart: CurveChart = { kind: "line", x: { title: "Time", unit: "us" }, y: { title: "Rate", unit: "gb_per_s" }, lines: [line("HtoD"), line("limit")], dashed: ["limit"], marks: [] };
  const drawn = chartOptions(chart, { hidden: new Set(), colors: COLORS, widthPx: 800 })["series"] as { lineStyle: { type: string } }[];
  expect(drawn.map(({ lineStyle }) => lineStyle.type)).toEqual(["solid", "dashed"]);
});
