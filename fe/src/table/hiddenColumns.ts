/** Columns a table does not show at first, and why: its chooser says so. */
import type { Row, Table } from "../api/types";
import { boundsOf, isBound } from "../lib/bounds";

export type HiddenColumns = readonly string[] | ((key: string) => boolean);

/** By column key, for people. A column that is not there is shown. */
export function hiddenReasons(declared: HiddenColumns, table: Table): ReadonlyMap<string, string> {
  const reasons = new Map<string, string>();
  const isDeclared = typeof declared === "function" ? declared : (key: string) => declared.includes(key);
  const isTree = table.tree !== null && table.columns.some((column) => column.key === "name");
  table.columns.forEach((column, index) => {
    const { key } = column;
    const isEmpty = (row: Row) => row[index] === null && boundsOf(table, row, key) === null;
    if (table.rows.length > 0 && table.rows.every(isEmpty)) reasons.set(key, `No values here. ${plainReason(table.null_reasons[key] ?? "It does not apply to these rows.")}`);
    else if (isBound(table, key)) reasons.set(key, "Stands in the column that it bounds.");
    else if (isTree && key !== "name" && (key === table.tree?.id || key === table.tree?.parent)) reasons.set(key, "The indentation says the same.");
    else if (column.hidden) reasons.set(key, "Only for who looks closer.");
    else if (isDeclared(key)) reasons.set(key, "It says nothing new here.");
  });
  return reasons;
}

/** The keys of the columns that are hidden now. */
export function hiddenNow(table: Table, reasons: ReadonlyMap<string, string>, shown: ReadonlyMap<string, boolean>): ReadonlySet<string> {
  return new Set(table.columns.map(({ key }) => key).filter((key) => !(shown.get(key) ?? !reasons.has(key))));
}

/** A reason of the server in the words of the page, which has a switch for what is a parameter there. */
export function plainReason(reason: string): string {
  return reason.replace(/\bchoose group_by=([a-z_+]+)/g, (_, parts: string) => `group by ${parts.split("+").map((part) => part.replaceAll("_", " ")).join(" + ")}`);
}
