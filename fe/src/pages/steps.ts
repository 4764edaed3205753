/** The steps of a trace as a chart, and a part of that chart as a selection. */
import type { Table } from "../api/types";
import type { CategoryChart, ChartRange } from "../chart/types";
import { cellOf, textOf } from "../lib/rows";

const TOTAL = "total_us";

/** A line per category, in the order of the columns; a category without time is omitted. */
export function stepChart(steps: Table): CategoryChart {
  const categories = steps.columns.filter((column) => column.unit === "us" && column.key !== TOTAL);
  const lines = categories.map((column) => ({
    name: column.title,
    values: steps.rows.map((row) => {
      const value = cellOf(steps, row, column.key);
      return typeof value === "number" ? value : null;
    }),
  }));
  return {
    kind: "stacked_bar",
    horizontal: false,
    categories: steps.rows.map((row) => textOf(steps, row, "step")),
    lines: lines.filter((line) => line.values.some((value) => value !== null && value > 0)),
    categoryTitle: "Step",
    value: { title: "Time", unit: "us" },
  };
}

export function stepsInRange(steps: Table, { start, end }: ChartRange): string {
  return stepsText(steps.rows.slice(start, end + 1).map((row) => textOf(steps, row, "step")));
}

/** Steps as the selection names them: "5:8" for numbers in order, else one by one. */
export function stepsText(names: readonly string[]): string {
  const numbers = names.map(Number);
  const ascending = numbers.every((number, index) => Number.isInteger(number) && (index === 0 || number > (numbers[index - 1] ?? 0)));
  if (names.length > 1 && ascending) return `${names[0] ?? ""}:${names.at(-1) ?? ""}`;
  return names.join(",");
}
