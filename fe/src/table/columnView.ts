/** How each column of a table is shown: its one unit, its digits, its width. */
import type { Column, Row, Scalar, Table } from "../api/types";
import { digitsFor, exactValue, formatNumber, NO_VALUE } from "../lib/format";
import { scaleFor, type Scale } from "../lib/units";

export interface ColumnView {
  readonly column: Column;
  /** Place of the value in a row. */
  readonly index: number;
  readonly scale: Scale;
  readonly digits: number;
  readonly numeric: boolean;
  /** Why nulls of this column are null, if that is known. */
  readonly nullReason: string | null;
  /** Width in px before anyone drags it. */
  readonly width: number;
}

const CHARACTER_PX = 6.7;
const CELL_PADDING_PX = 16;
const MIN_NUMBER_PX = 76;
const MAX_TEXT_PX = 420;
const MIN_TEXT_PX = 80;
/** Enough rows to know how wide a text column wants to be. */
const SAMPLED_ROWS = 200;

export function columnViews(table: Table): ColumnView[] {
  return table.columns.map((column, index) => {
    const numeric = column.type === "number" || column.type === "integer";
    const largest = numeric ? largestMagnitude(table.rows, index) : 0;
    const scale = scaleFor(column.unit, largest);
    const whole = column.type === "integer" && scale.divisor === 1;
    return {
      column,
      index,
      scale,
      numeric,
      digits: column.unit === "pct" ? 1 : digitsFor(largest / scale.divisor, whole),
      nullReason: table.null_reasons[column.key] ?? null,
      width: defaultWidth(column, table.rows, index),
    };
  });
}

function largestMagnitude(rows: readonly Row[], index: number): number {
  let largest = 0;
  for (const row of rows) {
    const cell = row[index];
    if (typeof cell === "number" && Math.abs(cell) > largest) largest = Math.abs(cell);
  }
  return largest;
}

function defaultWidth(column: Column, rows: readonly Row[], index: number): number {
  // Title, unit, sort arrow; "est." when estimated.
  const title = (column.title.length + (column.estimated ? 5 : 0) + 6) * CHARACTER_PX + CELL_PADDING_PX;
  const titleTwoLines = Math.max(MIN_NUMBER_PX, title * 0.62);
  if (column.type !== "string") return Math.round(titleTwoLines);
  let longest = 0;
  for (const row of rows.slice(0, SAMPLED_ROWS)) longest = Math.max(longest, String(row[index] ?? "").length);
  const text = longest * CHARACTER_PX + CELL_PADDING_PX + 8;
  return Math.round(Math.min(MAX_TEXT_PX, Math.max(MIN_TEXT_PX, titleTwoLines, text)));
}

/** How many characters fit into a text cell of this width. */
export function charactersIn(widthPx: number): number {
  return Math.max(4, Math.floor((widthPx - CELL_PADDING_PX) / CHARACTER_PX));
}

/** The text of a cell, without unit: that stands in the header. */
export function cellText(view: ColumnView, value: Scalar): string {
  if (value === null) return NO_VALUE;
  if (typeof value === "boolean") return value ? "Yes" : "No";
  if (typeof value === "string") return value;
  const shown = value / view.scale.divisor;
  // Something too small for the digits of its column is not nothing.
  if (value !== 0 && Number(shown.toFixed(view.digits)) === 0) {
    return `${value < 0 ? ">−" : "<"}${formatNumber(10 ** -view.digits, view.digits)}`;
  }
  return formatNumber(shown, view.digits);
}

/** What hovering says: the exact value, or why there is none. */
export function cellTitle(view: ColumnView, value: Scalar): string {
  if (value === null) return view.nullReason ?? "Does not apply to this row.";
  return exactValue(value, view.column.unit);
}

/** What the header says on hover. */
export function headerTitle({ column, scale }: ColumnView): string {
  const unit = scale.label === "" ? "" : ` (${scale.label})`;
  const estimate = column.estimated ? "\nThis is an estimate." : "";
  return `${column.title}${unit}\n${column.help}${estimate}`;
}
