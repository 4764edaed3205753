/**
 * Exports the rows that a table shows: exact values, nulls empty, keys as headers (RFC 4180).
 *
 * Names come from the trace: a text that a spreadsheet would run as a formula gets an apostrophe, and control characters
 * are written as `\\x1b`. The server writes the same (`reports/csv.py`), with the reasons.
 */
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
  return [toTabs([heading]), toTabs(columns.map(({ key }) => key)), ...rows.map(toTabs)].join("\n");
}

/** One row as tab separated text, for the clipboard and spreadsheets. */
export function toTabs(row: Row): string {
  return row.map((cell) => cellText(typeof cell === "string" ? cell.replace(/[\t\r\n]+/g, " ") : cell)).join("\t");
}

const FORMULA = "[=+\\-@＝＋－＠]";
/** What one spreadsheet or another drops before it. */
const DROPPED = '[\\s\\p{Cc}\\p{Cf}"]*';
const AT_START = new RegExp(`^(?:${DROPPED}${FORMULA}|[\\t\\r\\n])`, "u");
/** Looks back from a sign: forward from every separator takes the square of a text of tabs. */
const INSIDE = new RegExp(`${FORMULA}(?<=[;\\t\\r\\n]${DROPPED}${FORMULA})`, "gu");
/** All but tabs and line feeds. */
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

function cellText(cell: Scalar): string {
  if (typeof cell !== "string") return cell === null ? "" : String(cell);
  const inside = cell.replace(INSIDE, "'$&").replace(CONTROLS, controlText);
  return AT_START.test(cell) ? `'${inside}` : inside;
}

function controlText(character: string): string {
  return character === "\r" ? "\\r" : `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`;
}

function quote(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}
