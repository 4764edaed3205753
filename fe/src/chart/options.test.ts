import { expect, it } from "vitest";

import type { ChartColors } from "./colors";
import { chartOptions } from "./options";
import type { CurveChart } from "./types";

const COLORS = { of: () => "", text: "", soft: "", surface: "", line: "" } as unknown as ChartColors;

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

it("draws what stands alone as a dot", () => {
  const data = (y: readonly (number | null)[]) => {
    const chart: CurveChart = { kind: "stair", x: { title: "Batch", unit: null }, y: { title: "Batches", unit: "count" }, lines: [{ name: "Host queue", x: y.map((_, place) => place), y }], marks: [] };
    return (chartOptions(chart, { hidden: new Set(), colors: COLORS, widthPx: 800 })["series"] as { data: unknown[] }[])[0]?.data;
  };
  const dot = { symbol: "circle", symbolSize: 6 };
  expect(data([3])).toEqual([{ value: [0, 3], ...dot }]);
  expect(data([3, 4, null, 5])).toEqual([[0, 3], [1, 4], [2, null], { value: [3, 5], ...dot }]);
});

it("marks moments over the whole height, with names where there is room", () => {
  const line = (count: number) => {
    const verticals = Array.from({ length: count }, (_, place) => ({ x: place, label: `Step ${place}` }));
    const chart: CurveChart = { kind: "line", x: { title: "Time", unit: "us" }, y: { title: "Use", unit: "pct" }, lines: [{ name: "CPU", x: [0, 1], y: [1, 2] }], marks: [], verticals };
    const options = chartOptions(chart, { hidden: new Set(), colors: COLORS, widthPx: 800 });
    return (options["series"] as { markLine?: { data: unknown[]; label: { show: boolean } } }[])[0]?.markLine;
  };
  expect(line(0)).toBeUndefined();
  expect(line(3)?.data).toHaveLength(3);
  expect([line(3)?.label.show, line(50)?.label.show]).toEqual([true, false]);
});
