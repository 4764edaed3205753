import { expect, test } from "vitest";

import type { Series } from "../../api/types";
import { categoryChart } from "./categoryChart";

const SERIES: Series = {
  title: "Memory by category",
  kind: "stair",
  x_title: "Time",
  x_unit: "us",
  y_title: "Memory",
  y_unit: "bytes",
  lines: [
    { name: "GPU 0 optimizer_state", x: [0, 10], y: [1, 2] },
    { name: "GPU 0 reserved", x: [0, 10], y: [8, 8] },
    { name: "GPU 1 input", x: [0, 10], y: [3, 3] },
    { name: "forward start", x: [5, 5, 5, 2, 2, 2], y: [0, 8, null, 0, 8, null] },
    { name: "backward end", x: [9, 9, 9], y: [0, 8, null] },
  ],
};

test("levels of one device are stacked; reserved memory is a separate line", () => {
  const chart = categoryChart(SERIES, "GPU 0", null, []);
  expect(chart.lines.map(({ name }) => name)).toEqual(["optimizer state", "reserved"]);
  expect(chart.stacked).toEqual(["optimizer state"]);
});

test("passes and the chosen moment are vertical lines, in order of time, each once", () => {
  const { verticals } = categoryChart(SERIES, "GPU 0", 7, []);
  expect(verticals).toEqual([
    { x: 2, label: "forward start" },
    { x: 5, label: "forward start" },
    { x: 7, label: "chosen" },
    { x: 9, label: "backward end" },
  ]);
});
