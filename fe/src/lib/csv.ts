/** Exports the rows that a table shows: exact values, nulls empty, keys as headers (RFC 4180). */
import type { Column, Row, Scalar } from "../api/types";

export function toCsv(columns: readonly Column[], rows: readonly Row[]): string {
  const lines = [columns.map((column) => quote(column.key)).join(",")];
  for (const row of rows) lines.push(row.map((cell) => quote(cellText(cell))).join(","));
  return `${lines.join("\r\n")}\r\n`;
}

export function toJson(columns: readonly Column[], rows: readonly Row[]): string {
  const objects = rows.map((row) =>
    Object.fromEntries(columns.map((column, index) => [column.key, row[index] ?? null])),
  );
  return JSON.stringify(objects, null, 1);
}

/** A table for the clipboard: the recording and the table, the titles of the columns, and the rows. */
export function toText(heading: string, columns: readonly Column[], rows: readonly Row[]): string {
  return [heading, toTabs(columns.map(({ key }) => key)), ...rows.map(toTabs)].join("\n");
}

/** One row as tab separated text, for the clipboard and spreadsheets. */
export function toTabs(row: Row): string {
  return row.map((cell) => cellText(cell).replace(/[\t\r\n]+/g, " ")).join("\t");
}

function cellText(cell: Scalar): string {
  return cell === null ? "" : String(cell);
}

function quote(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}
