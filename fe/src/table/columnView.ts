/** How each column of a table is shown: its one unit, its digits, its width. */
import type { Column, Row, Scalar, Table } from "../api/types";
import { boundsOf, type Bounds } from "../lib/bounds";
import { digitsFor, digitsToTellApart, exactValue, formatNumber, isMoment, nearlyAll, NO_VALUE } from "../lib/format";
import { shortenMiddle } from "../lib/shorten";
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
  /** Between which values that of a row lies, as far as the row tells. */
  readonly bounds: (row: Row) => Bounds | null;
  /** Width in px before anyone drags it. */
  readonly width: number;
  /** Width in px at which nothing has to be shortened. */
  readonly idealWidth: number;
}

const NO_BOUNDS = () => null;
const CELL_PADDING_PX = 16;
const LEAST_CHARACTERS = 4;
const SORT_MARK_CHARACTERS = 2;
/** How much wider titles are than text. */
const BOLD = 1.1;
const MIN_NUMBER_PX = 76;
const MAX_TEXT_PX = 420;
const MIN_TEXT_PX = 80;
/** Room for what opens a row and for some indentation, in the first column of text. */
const OPENER_PX = 60;
/** Enough rows to know how wide a text column wants to be. */
const SAMPLED_ROWS = 200;

export function columnViews(table: Table, opens: boolean): ColumnView[] {
  const label = opens ? table.columns.findIndex(({ type }) => type === "string") : -1;
  const magnitudes = table.columns.map((column, index) => (isNumeric(column) ? largestMagnitude(table.rows, index) : 0));
  return table.columns.map((column, index) => {
    const numeric = isNumeric(column);
    const largest = Math.max(
      ...magnitudes.filter((_, other) => comparedKey(table.columns[other]) === comparedKey(column)),
    );
    const scale = scaleFor(column.unit, largest);
    const whole = column.type === "integer" && scale.divisor === 1;
    const usual = column.unit === "pct" ? 1 : digitsFor(largest / scale.divisor, whole);
    const digits = isMoment(column.key) ? Math.max(usual, digitsOfMoments(table.rows, index, column, scale)) : usual;
    return {
      column,
      index,
      scale,
      numeric,
      digits,
      nullReason: table.null_reasons[column.key] ?? null,
      bounds: column.unit === "pct" ? (row) => boundsOf(table, row, column.key) : NO_BOUNDS,
      ...widths(column, table.rows, index, {
        numberLength: numeric ? formatNumber(largest / scale.divisor, digits).length : 0,
        openerPx: index === label ? OPENER_PX : 0,
      }),
    };
  });
}

function digitsOfMoments(rows: readonly Row[], index: number, column: Column, scale: Scale): number {
  const values = rows.map((row) => row[index] ?? null);
  return digitsToTellApart(values, column.unit, scale.divisor);
}

function isNumeric(column: Column): boolean {
  return column.type === "number" || column.type === "integer";
}

/** Baseline, candidate and the difference of one measure are read together, so they share a unit. */
function comparedKey(column: Column | undefined): string | undefined {
  return column?.key.replace(/^(baseline|candidate|delta)_(?!.*_pct$)/, "");
}

/** Whether a column holds differences: those carry their sign. */
export function isDelta(column: Column): boolean {
  return column.key.startsWith("delta_");
}

function largestMagnitude(rows: readonly Row[], index: number): number {
  let largest = 0;
  for (const row of rows) {
    const cell = row[index];
    if (typeof cell === "number" && Math.abs(cell) > largest) largest = Math.abs(cell);
  }
  return largest;
}

function widths(
  column: Column,
  rows: readonly Row[],
  index: number,
  { numberLength, openerPx }: { readonly numberLength: number; readonly openerPx: number },
): Pick<ColumnView, "width" | "idealWidth"> {
  // A title breaks into two or three lines, but not inside a word.
  const longestWordPx = Math.max(...column.title.split(" ").map(textPx)) * BOLD;
  const halfTitlePx = column.title.length * 0.55 * characterPx();
  const titlePx = Math.max(longestWordPx, halfTitlePx) + SORT_MARK_CHARACTERS * characterPx();
  const titleTwoLines = Math.max(MIN_NUMBER_PX, titlePx + CELL_PADDING_PX);
  if (column.type !== "string") {
    const width = Math.round(Math.max(titleTwoLines, numberLength * characterPx() + CELL_PADDING_PX));
    return { width, idealWidth: width };
  }
  let longestPx = 0;
  for (const row of rows.slice(0, SAMPLED_ROWS)) longestPx = Math.max(longestPx, textPx(String(row[index] ?? "")));
  const ideal = Math.ceil(Math.max(MIN_TEXT_PX, titleTwoLines, longestPx + CELL_PADDING_PX + openerPx));
  return { width: Math.min(MAX_TEXT_PX, ideal), idealWidth: ideal };
}

/** How wide text is in the page's font; the canvas is made once. */
let canvas: CanvasRenderingContext2D | null = null;
const FALLBACK_PX = 7;

function textPx(text: string): number {
  if (typeof document === "undefined") return text.length * FALLBACK_PX;
  if (canvas === null) {
    canvas = document.createElement("canvas").getContext("2d");
    if (canvas === null) return text.length * FALLBACK_PX;
    const { fontSize, fontFamily } = getComputedStyle(document.body);
    canvas.font = `${fontSize} ${fontFamily}`;
  }
  return canvas.measureText(text).width;
}

const TYPICAL_NAME = "void at::native::vectorized_elementwise_kernel<4, at::native::BUnaryFunctor<float>>";
let measuredPx: number | null = null;

/** The mean width of a character of a kernel name. */
function characterPx(): number {
  measuredPx ??= textPx(TYPICAL_NAME) / TYPICAL_NAME.length;
  return measuredPx;
}

/** `text` shortened in the middle until it fits into a cell of this width. */
export function fitText(text: string, widthPx: number): string {
  const room = widthPx - CELL_PADDING_PX;
  let shown = text;
  let px = textPx(shown);
  // The first guess is nearly right; a few characters less make up for wide letters.
  for (let length = shown.length; px > room && length > LEAST_CHARACTERS; length = shown.length) {
    shown = shortenMiddle(text, Math.max(LEAST_CHARACTERS, Math.min(length - 1, Math.floor((length * room) / px))));
    px = textPx(shown);
  }
  return shown;
}

/** The text of a cell, without unit: that stands in the header. */
export function cellText(view: ColumnView, value: Scalar): string {
  if (value === null) return NO_VALUE;
  if (typeof value === "boolean") return value ? "Yes" : "No";
  if (typeof value === "string") return value;
  if (value === 0) return "0";
  const shown = value / view.scale.divisor;
  // Something too small for the digits of its column is not nothing.
  if (Number(shown.toFixed(view.digits)) === 0) {
    return `${value < 0 ? ">−" : "<"}${formatNumber(10 ** -view.digits, view.digits)}`;
  }
  const text = nearlyAll(shown, view.digits, view.column.unit) ?? formatNumber(shown, view.digits);
  return (isDelta(view.column) && value > 0 ? "+" : "") + text;
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
