/** The ranks of the table `rank_matrix` for the matrix, and the measures that it can show. */
import type { Column, Table } from "../../api/types";
import { cellOf, numberOf, textOf } from "../../lib/rows";
import type { MatrixRank } from "../rankMatrix/arrange";

const COORDINATES = ["pipeline", "data", "context", "tensor"];
const NO_MEASURES: ReadonlySet<string> = new Set(["worker", "rank", "node", "expert", "is_outlier", ...COORDINATES]);

/** The columns that ranks have values in, by the name of the measure: `computation` of `computation_us`. */
export function measuresOf(table: Table): ReadonlyMap<string, Column> {
  const columns = table.columns.filter(({ key }) => !NO_MEASURES.has(key) && table.rows.some((row) => numberOf(table, row, key) !== null));
  return new Map(columns.map((column) => [column.key.replace(/_(us|pct|bytes)$/, ""), column]));
}

export function matrixRanks(table: Table, key: string): MatrixRank[] {
  return table.rows.map((row) => ({
    worker: textOf(table, row, "worker"),
    rank: numberOf(table, row, "rank"),
    value: numberOf(table, row, key),
    isOutlier: cellOf(table, row, "is_outlier") === true,
    node: textOf(table, row, "node") || null,
    coordinates: Object.fromEntries(COORDINATES.map((axis) => [axis, numberOf(table, row, axis)])),
  }));
}
