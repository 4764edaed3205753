import { expect, test } from "vitest";

import type { Series } from "../api/types";
import { barsByKind, seriesChart } from "./chartData";

test("places of bars carry no noise of a division", () => {
  const series: Series = { title: "", kind: "bar", x_title: "", x_unit: null, y_title: "", y_unit: "count", lines: [{ name: "a", x: [0.19999999999999996, 3, 1_234_567], y: [1, 2, 3] }] };
  const chart = seriesChart(series);
  expect("categories" in chart && chart.categories).toEqual(["0.2", "3", "1234567"]);
});

test("gives every bar the line of its kind", () => {
  const top = [["a"], ["b"], ["c"]].map((row, index) => ({ row, value: index + 1 }));
  expect(barsByKind(top, (row) => (row[0] === "b" ? "Communication" : "Kernel"))).toEqual([
    { name: "Kernel", values: [1, 0, 3] },
    { name: "Communication", values: [0, 2, 0] },
  ]);
});
