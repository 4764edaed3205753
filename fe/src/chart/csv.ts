/** The data of a chart as CSV. */
import type { Column, Row, Unit } from "../api/types";
import { PLAIN_COLUMN } from "../lib/columns";
import { toCsv } from "../lib/csv";
import { isCurve, type ChartData } from "./types";

export function chartCsv(chart: ChartData): string {
  if (isCurve(chart)) {
    const rows = chart.lines.flatMap((line) => line.x.map((x, index): Row => [line.name, x, line.y[index] ?? null]));
    return toCsv([column("line", null), column(chart.x.title, chart.x.unit), column(chart.y.title, chart.y.unit)], rows);
  }
  const columns = [column(chart.categoryTitle, null), ...chart.lines.map((line) => column(line.name, chart.value.unit))];
  const rows = chart.categories.map((name, index): Row => [name, ...chart.lines.map((line) => line.values[index] ?? null)]);
  return toCsv(columns, rows);
}

/** As in the tables of the server, the key has the unit. */
function column(title: string, unit: Unit | null): Column {
  const suffix = unit === null || unit === "count" || unit === "ratio" ? "" : `_${unit}`;
  const key = title.trim().toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "_") + suffix;
  return { key, title, type: "string", unit, help: "", ...PLAIN_COLUMN };
}
