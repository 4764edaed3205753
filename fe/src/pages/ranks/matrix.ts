/** The ranks of the table `ranks` for the matrix: the measures that it can show, and which ranks stand out in each. */
import type { Column, Table } from "../../api/types";
import { hasColumn, numberOf, textOf } from "../../lib/rows";
import type { MatrixRank } from "../rankMatrix/arrange";

const COORDINATES = ["pipeline", "data", "context", "tensor"];
const NO_MEASURES: ReadonlySet<string> = new Set(["rank", "pattern", "steps", "expert", ...COORDINATES]);

/** Columns of numbers that ranks have values in, and in which they may differ. */
export function measuresOf(table: Table): Column[] {
  return table.columns.filter(({ key, type }) => type !== "string" && !NO_MEASURES.has(key) && table.rows.some((row) => numberOf(table, row, key) !== null));
}

/**
 * The measure to show first: the one in which most ranks stand out, else the first.
 * @param outliers The table of ranks that stand out, a row per rank and measure.
 */
export function firstMeasure(measures: readonly Column[], outliers: Table | undefined): Column | undefined {
  const counts = new Map<string, number>();
  for (const row of outliers?.rows ?? []) {
    const key = outliers === undefined ? "" : textOf(outliers, row, "column");
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return measures.reduce<Column | undefined>((best, each) => (best !== undefined && (counts.get(each.key) ?? 0) <= (counts.get(best.key) ?? 0) ? best : each), undefined);
}

export function matrixRanks(table: Table, key: string, outliers: Table | undefined): MatrixRank[] {
  const own = new Set(outliers?.rows.filter((row) => textOf(outliers, row, "column") === key).map((row) => textOf(outliers, row, "worker")));
  const axes = COORDINATES.filter((axis) => hasColumn(table, axis));
  return table.rows.map((row) => {
    const worker = textOf(table, row, "worker");
    return {
      worker,
      rank: numberOf(table, row, "rank"),
      value: numberOf(table, row, key),
      isOutlier: own.has(worker),
      node: textOf(table, row, "node") || null,
      coordinates: Object.fromEntries(axes.map((axis) => [axis, numberOf(table, row, axis)])),
    };
  });
}
