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
