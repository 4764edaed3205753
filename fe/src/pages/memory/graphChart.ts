/** The memory of one graph over its operators, as a chart. */
import type { Series, View } from "../../api/types";
import type { CurveChart } from "../../chart/types";
import { formatValue } from "../../lib/format";

const PASSES: Readonly<Record<string, string>> = { graph_forward_start: "forward starts", graph_backward_end: "backward ends" };

/** The curve of one graph with its peak, the ends of its passes and the chosen operator. */
export function graphChart(series: Series, view: View, graph: string, at: string | null): CurveChart {
  const line = series.lines.find((each) => each.name === graph);
  const peak = line === undefined ? -1 : line.y.reduce<number>((best, value, index) => ((value ?? 0) > (line.y[best] ?? -1) ? index : best), 0);
  const [x, y] = [line?.x[peak], line?.y[peak]];
  const passes = view.facts.flatMap(({ key, scope, value }) => {
    const label = PASSES[key];
    return label === undefined || scope !== graph || typeof value !== "number" ? [] : [{ x: value, label }];
  });
  const chosen = Number(at);
  return {
    kind: "stair",
    lines: line === undefined ? [] : [line],
    x: { title: series.x_title, unit: series.x_unit },
    y: { title: series.y_title, unit: series.y_unit },
    marks: typeof x === "number" && typeof y === "number" ? [{ x, y, label: `Peak ${formatValue(y, "bytes")}` }] : [],
    verticals: at === null || !Number.isFinite(chosen) ? passes : [...passes, { x: chosen, label: "shown" }],
  };
}
