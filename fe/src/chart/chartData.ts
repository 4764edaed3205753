/** Converts series of the server and rows of tables into the data of charts. */
import type { Row, Series } from "../api/types";
import { isCurve, type CategoryLine, type ChartData, type CurveChart, type Mark } from "./types";

export function seriesChart(series: Series, marks: readonly Mark[] = []): ChartData {
  if (series.kind === "line" || series.kind === "stair") {
    return {
      kind: series.kind,
      lines: series.lines,
      x: { title: series.x_title, unit: series.x_unit },
      y: { title: series.y_title, unit: series.y_unit },
      marks,
    } satisfies CurveChart;
  }
  const xValues = [...new Set(series.lines.flatMap((line) => line.x))].sort((a, b) => a - b);
  return {
    kind: series.kind,
    horizontal: false,
    categories: xValues.map(xText),
    lines: series.lines.map((line) => {
      const byX = new Map(line.x.map((x, index) => [x, line.y[index] ?? null]));
      return { name: line.name, values: xValues.map((x) => byX.get(x) ?? null) };
    }),
    categoryTitle: series.x_title,
    value: { title: series.y_title, unit: series.y_unit },
  };
}

/** Without floating-point noise: 0.2, not 0.19999999999999996. */
function xText(x: number): string {
  return String(Number(x.toPrecision(9)));
}

/** A line per kind of row, so that the legend names its colour. */
export function barsByKind(top: readonly { readonly row: Row; readonly value: number }[], kind: (row: Row) => string): CategoryLine[] {
  const kinds = top.map(({ row }) => kind(row));
  return [...new Set(kinds)].map((name) => ({ name, values: top.map(({ value }, index) => (kinds[index] === name ? value : 0)) }));
}

/** Why a chart has nothing to draw, as a sentence; null when it has data. */
export function noDataText(chart: ChartData, reason?: string): string | null {
  const values = isCurve(chart) ? chart.lines.flatMap((line) => line.y) : chart.lines.flatMap((line) => line.values);
  const known = values.filter((value) => value !== null);
  if (known.some((value) => value !== 0)) return null;
  // A curve at zero is visible; a bar of no height is not.
  if (known.length > 0) return isCurve(chart) ? null : "Nothing to draw: every value is 0.";
  if (reason === undefined && values.length === 0) return "No data in this selection.";
  return `Nothing to draw. ${reason ?? "The recording has no such value."}`;
}
