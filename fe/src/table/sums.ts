/** Sums of additive columns, and their texts below a table. */
import type { ColumnSum, Row, Table } from "../api/types";
import { formatNumber } from "../lib/format";

/** Sums over the rows that pass the filters and over all rows, of a completely loaded table; as the server does it. */
export function sumsOf(table: Table, passing: readonly Row[]): Record<string, ColumnSum> {
  return Object.fromEntries(
    table.columns.flatMap((column, index) => {
      if (!column.additive) return [];
      const shown = known(passing, index);
      return [[column.key, { shown: total(shown, passing), all: total(known(table.rows, index), table.rows), shown_nulls: passing.length - shown.length }]];
    }),
  );
}

function known(rows: readonly Row[], index: number): number[] {
  return rows.flatMap((row) => (typeof row[index] === "number" ? [row[index]] : []));
}

/** Null when there are rows but none has a value. */
function total(values: readonly number[], rows: readonly Row[]): number | null {
  return values.length === 0 && rows.length > 0 ? null : values.reduce((sum, value) => sum + value, 0);
}

/** The share of the shown rows in the sum of all, in percent; null when it is undefined. */
export function shareOf(sum: ColumnSum | undefined): number | null {
  return sum === undefined || sum.shown === null || sum.all === null || sum.all === 0 ? null : (100 * sum.shown) / sum.all;
}

/** "61.2 %", "<0.1 %", ">99.9 %". */
export function shareText(pct: number): string {
  if (pct !== 0 && Math.abs(pct) < 0.05) return "<0.1 %";
  if (pct < 100 && pct >= 99.95) return ">99.9 %";
  return `${formatNumber(pct, 1)} %`;
}
