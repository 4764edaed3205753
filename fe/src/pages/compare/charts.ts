/** Pictures of a comparison: baseline next to candidate. */
import type { Row, Table } from "../../api/types";
import type { CategoryChart } from "../../chart/types";
import { cellOf, textOf } from "../../lib/rows";
import { visibleText } from "../../lib/visibleText";
import type { NameMode } from "../../lib/names";
import { kernelLabel } from "../kernels/kernelLabel";

const TOTAL = "Total";
export const MOST_BARS = 10;
/** Steps beyond these are in the table only. */
const MOST_STEPS = 200;

/** The categories of the average step. */
export function averageChart(table: Table): CategoryChart {
  const rows = table.rows.filter((row) => {
    const measured = ["baseline_duration_us", "candidate_duration_us"].some((key) => Number(cellOf(table, row, key) ?? 0) > 0);
    return measured && textOf(table, row, "category") !== TOTAL;
  });
  return pairChart(table, rows, { label: (row) => textOf(table, row, "category"), measure: "duration_us", categoryTitle: "Category", title: "Time per step" });
}

/** The length of each step, by position. */
export function stepsChart(table: Table): CategoryChart {
  const rows = table.rows.slice(0, MOST_STEPS);
  return pairChart(table, rows, { label: (row) => textOf(table, row, "position"), measure: "total_us", categoryTitle: "Position of the step", title: "Duration" });
}

/** The rows whose time changed most. */
export function changesChart(table: Table, measure: string, label: (row: Row) => string): CategoryChart {
  const change = (row: Row) => Math.abs(Number(cellOf(table, row, `delta_${measure}`) ?? 0));
  const rows = [...table.rows].filter((row) => change(row) > 0).sort((a, b) => change(b) - change(a)).slice(0, MOST_BARS);
  const title = table.columns.find(({ key }) => key === `delta_${measure}`)?.title.replace("Δ ", "") ?? "Time";
  return { ...pairChart(table, rows, { label, measure, categoryTitle: table.title, title }), horizontal: true };
}

/** What a row is called; both names of a pair. */
export function rowLabel(table: Table, row: Row, mode: NameMode): string {
  const other = textOf(table, row, "paired_with");
  const name = table.columns.some(({ key }) => key === "short_name") ? kernelLabel(table, row, mode) : textOf(table, row, "name");
  return other === "" ? name : `${name} → ${visibleText(other)}`;
}

interface Bars {
  readonly label: (row: Row) => string;
  readonly measure: string;
  readonly categoryTitle: string;
  readonly title: string;
}

function pairChart(table: Table, rows: readonly Row[], { label, measure, categoryTitle, title }: Bars): CategoryChart {
  const values = (key: string) =>
    rows.map((row) => {
      const value = cellOf(table, row, key);
      return typeof value === "number" ? value : null;
    });
  return {
    kind: "bar",
    horizontal: false,
    categories: rows.map(label),
    lines: [
      { name: "Baseline", values: values(`baseline_${measure}`) },
      { name: "Candidate", values: values(`candidate_${measure}`) },
      ...(table.columns.some(({ key }) => key === `third_${measure}`) ? [{ name: "Third side", values: values(`third_${measure}`) }] : []),
    ],
    categoryTitle,
    value: { title, unit: "us" },
  };
}
