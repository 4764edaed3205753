/** Reads cells by column key. */
import type { Row, Scalar, Table } from "../api/types";

export function cellOf(table: Table, row: Row, key: string): Scalar {
  const index = table.columns.findIndex((column) => column.key === key);
  return row[index] ?? null;
}

export function textOf(table: Table, row: Row, key: string): string {
  const cell = cellOf(table, row, key);
  return cell === null ? "" : String(cell);
}

/** Null when the cell is not a number. */
export function numberOf(table: Table, row: Row, key: string): number | null {
  const cell = cellOf(table, row, key);
  return typeof cell === "number" ? cell : null;
}

export function hasColumn(table: Table, key: string): boolean {
  return table.columns.some((column) => column.key === key);
}

/** Whether all rows have the kind `kind`: then the column is redundant. */
export function allOfKind(table: Table, kind: string): boolean {
  return hasColumn(table, "kind") && table.rows.every((row) => textOf(table, row, "kind") === kind);
}

/** The rows with the largest positive values of `key`, largest first. */
export function topRows(table: Table, key: string, count: number): { row: Row; value: number }[] {
  return table.rows
    .flatMap((row) => {
      const value = cellOf(table, row, key);
      return typeof value === "number" && value > 0 ? [{ row, value }] : [];
    })
    .sort((a, b) => b.value - a.value)
    .slice(0, count);
}
