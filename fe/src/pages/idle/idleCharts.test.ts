import { expect, test } from "vitest";

import type { Series, View } from "../../api/types";
import { delayChart, delayText, timeOfGpus } from "./idleCharts";

const COLUMNS = ["gpu", "title", "total_us", "idle_pct", "meaning", "remedy"].map((key) => ({ key }));
const ROWS = [
  [0, "Data loading", 30, 75, "The host waits for data.", "More workers."],
  [0, "Kernel to kernel", 10, 25, "m", "r"],
  [0, "Garbage collection", null, null, "m", "r"],
  [1, "Kernel to kernel", 20, 100, "Work was late.", "gc.freeze() after set-up."],
];
const fact = (key: string, scope: string, value: number) => ({ key, scope, value, title: key, unit: null, help: "", reason: null });
const VIEW = {
  facts: [fact("idle_pct", "GPU 0", 40), fact("idle_us", "GPU 0", 40), fact("busy_us", "GPU 0", 60), fact("idle_pct", "GPU 1", 20), fact("busy_us", "GPU 1", 80)],
  tables: { causes: { columns: COLUMNS, rows: ROWS } },
  series: { idle_by_step: { lines: [{ name: "Kernel to kernel", x: [1], y: [15] }] } },
} as unknown as View;

test("the parts of each GPU's bar add up to its time", () => {
  const chart = timeOfGpus(VIEW);
  expect(chart?.categories).toEqual(["GPU 0", "GPU 1"]);
  expect(chart?.lines.map(({ name, values }) => [name, values])).toEqual([
    ["Busy", [60, 80]],
    ["Kernel to kernel", [10, 20]],
    ["Data loading", [30, 0]],
  ]);
});

test("delays are shown as times", () => {
  expect([-1, -0.7999999999999999, 0, 0.2, 1, 3, 4.6, 6].map(delayText)).toEqual(["0 µs", "0.16 µs", "1 µs", "1.6 µs", "10 µs", "1 ms", "40 ms", "1 s"]);
  const series = { y_title: "Launches", y_unit: "count", lines: [{ name: "kernel", x: [0, 0.2], y: [3, 1] }, { name: "copy", x: [0.2], y: [5] }] } as unknown as Series;
  const chart = delayChart(series);
  expect(chart.fullNames).toEqual(["1 µs to 1.6 µs", "1.6 µs to 2.5 µs"]);
  expect(chart.lines.map(({ values }) => values)).toEqual([[3, 1], [null, 5]]);
});
