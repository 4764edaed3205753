/** What charts are drawn from, of a series of the server or of rows of a table. */
import type { Row, Series } from "../api/types";
import type { CategoryLine, ChartData, CurveChart, Mark } from "./types";

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
  const places = [...new Set(series.lines.flatMap((line) => line.x))].sort((a, b) => a - b);
  return {
    kind: series.kind,
    horizontal: false,
    categories: places.map(placeText),
    lines: series.lines.map((line) => {
      const byPlace = new Map(line.x.map((x, index) => [x, line.y[index] ?? null]));
      return { name: line.name, values: places.map((x) => byPlace.get(x) ?? null) };
    }),
    categoryTitle: series.x_title,
    value: { title: series.y_title, unit: series.y_unit },
  };
}

/** Without the noise of a division: 0.2, not 0.19999999999999996. */
function placeText(place: number): string {
  return String(Number(place.toPrecision(9)));
}

/** A line per kind, so that the legend names its colour. */
export function barsByKind(top: readonly { readonly row: Row; readonly value: number }[], kind: (row: Row) => string): CategoryLine[] {
  const kinds = top.map(({ row }) => kind(row));
  return [...new Set(kinds)].map((name) => ({ name, values: top.map(({ value }, index) => (kinds[index] === name ? value : 0)) }));
}
