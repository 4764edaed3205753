import { expect, test } from "vitest";

import type { Fact, Series, View } from "../../api/types";
import { graphChart } from "./graphChart";

const SERIES = {
  title: "Memory over the operators, as recorded",
  kind: "stair",
  x_title: "Position of the operator",
  x_unit: null,
  y_title: "Live memory",
  y_unit: "bytes",
  lines: [
    { name: "Graph 1", x: [0, 1, 2], y: [1024, 4096, 4096] },
    { name: "Graph 2", x: [0], y: [1] },
  ],
} as unknown as Series;

function fact(key: string, scope: string, value: number): Fact {
  return { key, scope, value } as Fact;
}

const VIEW = {
  facts: [fact("graph_forward_start", "Graph 1", 1), fact("graph_backward_end", "Graph 2", 0), fact("graph_peak_bytes", "Graph 1", 4096)],
} as unknown as View;

test("a graph is drawn with its first peak and its own passes", () => {
  const chart = graphChart(SERIES, VIEW, "Graph 1", null);
  expect(chart.lines.map(({ name }) => name)).toEqual(["Graph 1"]);
  expect(chart.marks).toEqual([{ x: 1, y: 4096, label: "Peak 4.00 KiB" }]);
  expect(chart.verticals).toEqual([{ x: 1, label: "forward starts" }]);
});

test("the chosen operator is marked, if it is a number", () => {
  expect(graphChart(SERIES, VIEW, "Graph 2", "12").verticals).toEqual([
    { x: 0, label: "backward ends" },
    { x: 12, label: "shown" },
  ]);
  expect(graphChart(SERIES, VIEW, "Graph 2", "x").verticals).toEqual([{ x: 0, label: "backward ends" }]);
});

test("a graph that is not there draws nothing", () => {
  const chart = graphChart(SERIES, VIEW, "Graph 9", null);
  expect([chart.lines, chart.marks]).toEqual([[], []]);
});
