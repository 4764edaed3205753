/** Columns that a table hides by default, with the reason for the column menu. */
import type { Row, Table } from "../api/types";
import { boundsOf, isBound } from "../lib/bounds";

export type HiddenColumns = readonly string[] | ((key: string) => boolean);

/** Reasons by column key. A column without a reason is shown. */
export function hiddenReasons(declared: HiddenColumns, table: Table): ReadonlyMap<string, string> {
  const reasons = new Map<string, string>();
  const isDeclared = typeof declared === "function" ? declared : (key: string) => declared.includes(key);
  const isTree = table.tree !== null && table.columns.some((column) => column.key === "name");
  table.columns.forEach((column, index) => {
    const { key } = column;
    const isEmpty = (row: Row) => row[index] === null && boundsOf(table, row, key) === null;
    if (table.rows.length > 0 && table.rows.every(isEmpty)) reasons.set(key, `No values here. ${plainReason(table.null_reasons[key] ?? "Does not apply to these rows.")}`);
    else if (isBound(table, key)) reasons.set(key, "Shown in the column that it bounds.");
    else if (isTree && key !== "name" && (key === table.tree?.id || key === table.tree?.parent)) reasons.set(key, "The indentation shows it.");
    else if (column.hidden) reasons.set(key, "A detail that is rarely needed.");
    else if (isDeclared(key)) reasons.set(key, "Redundant in this table.");
  });
  return reasons;
}

/** The keys of the currently hidden columns. */
export function hiddenNow(table: Table, reasons: ReadonlyMap<string, string>, shown: ReadonlyMap<string, boolean>): ReadonlySet<string> {
  return new Set(table.columns.map(({ key }) => key).filter((key) => !(shown.get(key) ?? !reasons.has(key))));
}

/** A reason of the server with its parameters replaced by the names of the page's controls. */
export function plainReason(reason: string): string {
  return reason.replace(/\buse group_by=([a-z_+]+)/g, (_, parts: string) => `group by ${parts.split("+").map((part) => part.replaceAll("_", " ")).join(" + ")}`);
}
