import { expect, test } from "vitest";

import type { Series } from "../api/types";
import { barsByKind, noDataText, seriesChart } from "./chartData";
import type { CategoryChart, CurveChart } from "./types";

test("positions of bars have no rounding noise", () => {
  const series: Series = { title: "", kind: "bar", x_title: "", x_unit: null, y_title: "", y_unit: "count", lines: [{ name: "a", x: [0.19999999999999996, 3, 1_234_567], y: [1, 2, 3] }] };
  const chart = seriesChart(series);
  expect("categories" in chart && chart.categories).toEqual(["0.2", "3", "1234567"]);
});

test("assigns every bar to the line of its kind", () => {
  const top = [["a"], ["b"], ["c"]].map((row, index) => ({ row, value: index + 1 }));
  expect(barsByKind(top, (row) => (row[0] === "b" ? "Communication" : "Kernel"))).toEqual([
    { name: "Kernel", values: [1, 0, 3] },
    { name: "Communication", values: [0, 2, 0] },
  ]);
});

const bars = (...values: (number | null)[]): CategoryChart => ({
  kind: "bar",
  horizontal: false,
  categories: values.map(String),
  lines: [{ name: "Wait", values }],
  categoryTitle: "Worker",
  value: { title: "Time", unit: "us" },
});
const curve = (...y: (number | null)[]): CurveChart => ({
  kind: "line",
  lines: [{ name: "Allocated", x: y.map((_, index) => index), y }],
  x: { title: "Time", unit: "us" },
  y: { title: "Size", unit: "bytes" },
  marks: [],
});

test("is null where something is drawn", () => {
  expect(noDataText(bars(null, 0, 3))).toBeNull();
  expect(noDataText(curve(0, 0))).toBeNull();
});

test("explains an empty chart", () => {
  expect(noDataText(bars(0, null, 0))).toBe("Nothing to draw: every value is 0.");
  expect(noDataText(bars(null, null), "Only one rank recorded collectives.")).toBe("Nothing to draw. Only one rank recorded collectives.");
  expect(noDataText(bars(null))).toBe("Nothing to draw. The recording has no such value.");
  expect(noDataText(bars())).toBe("No data in this selection.");
  expect(noDataText({ ...bars(), lines: [] })).toBe("No data in this selection.");
});
