/** How each column of a table is shown: its unit, its digits, its width. */
import type { Column, Row, Scalar, Table } from "../api/types";
import { boundsOf, type Bounds } from "../lib/bounds";
import { digitsFor, digitsOfSmall, distinguishingDigits, exactValue, formatNumber, isMoment, nearlyAll, nearlyNone, NO_VALUE } from "../lib/format";
import { DEMANGLED_KEY, fullNames, NAME_KEY, namesReader, SHORT_KEY, shownName, type KernelNames, type NameMode } from "../lib/names";
import { scaleFor, type Scale } from "../lib/units";
import { visibleText } from "../lib/visibleText";
import { largestOfFamilies } from "./families";
import { plainReason } from "./hiddenColumns";
import { BOLD, CELL_PADDING_PX, characterPx, textPx } from "./textWidth";
import { INDENT_PX, Tree } from "./tree";

export interface ColumnView {
  readonly column: Column;
  /** Index of the value in a row. */
  readonly index: number;
  readonly scale: Scale;
  readonly digits: number;
  readonly numeric: boolean;
  /** Why values of this column are null, if known. */
  readonly nullReason: string | null;
  /** The bounds of the value in a row, if it has any. */
  readonly bounds: (row: Row) => Bounds | null;
  /** The shown value of a row: for a kernel, the name in the chosen mode. */
  readonly shown: (row: Row) => Scalar;
  /** In the column with kernel names: all names of a row. */
  readonly names: ((row: Row) => KernelNames) | null;
  /** Default width in px. */
  readonly width: number;
  /** Width in px at which no text is shortened. */
  readonly idealWidth: number;
}

const NO_BOUNDS = () => null;
const NONE: ReadonlySet<string> = new Set();
const SORT_MARK_CHARACTERS = 2;
const MIN_NUMBER_PX = 76;
const MAX_TEXT_PX = 420;
const MIN_TEXT_PX = 80;
/** Space of the expander in the first visible text column. */
const OPENER_PX = 60;
/** Number of rows that the width of a text column is computed from. */
const SAMPLED_ROWS = 200;

/**
 * @param mode Which name of kernels is shown; columns with the other names are merged into it.
 * @param hidden Keys of hidden columns, which do not influence the unit of others.
 */
export function columnViews(table: Table, opens: boolean, mode: NameMode = "short", hidden: ReadonlySet<string> = NONE): ColumnView[] {
  const label = opens ? table.columns.findIndex(({ type, key }) => type === "string" && !hidden.has(key)) : -1;
  const tree = table.tree === null ? null : new Tree(table, table.tree);
  const magnitudes = table.columns.map((column, index) => (isNumeric(column) ? largestMagnitude(table.rows, index) : 0));
  const families = largestOfFamilies(table.columns, magnitudes.map((largest, index) => (hidden.has(table.columns[index]?.key ?? "") ? 0 : largest)));
  const names = namesReader(table);
  return table.columns.flatMap((column, index) => {
    if (names !== null && (column.key === SHORT_KEY || column.key === DEMANGLED_KEY)) return [];
    const numeric = isNumeric(column);
    const reason = table.null_reasons[column.key];
    const magnitude = magnitudes[index] ?? 0;
    const scale = scaleFor(column.unit, hidden.has(column.key) ? magnitude : (families[index] ?? magnitude));
    const largest = magnitude / scale.divisor;
    const digits = digitsOf(column, table.rows, index, scale, largest);
    const ofKernels = column.key === NAME_KEY ? names : null;
    const shown = ofKernels === null ? (row: Row) => row[index] ?? null : (row: Row) => shownName(ofKernels(row), mode);
    return {
      column,
      index,
      scale,
      numeric,
      digits,
      nullReason: reason === undefined ? null : plainReason(reason),
      bounds: column.unit === "pct" ? (row: Row) => boundsOf(table, row, column.key) : NO_BOUNDS,
      shown,
      names: ofKernels,
      ...widths(column, table.rows, shown, {
        numberPx: numeric ? textPx(formatNumber(largest, digits)) : 0,
        openerPx: (row) => (index === label ? OPENER_PX + (tree?.depthOf(row) ?? 0) * INDENT_PX : 0),
      }),
    };
  });
}

/** As many digits as are significant in the largest value of the column, in the unit of its family. */
function digitsOf(column: Column, rows: readonly Row[], index: number, scale: Scale, largest: number): number {
  const whole = column.type === "integer" && scale.divisor === 1;
  const usual = column.unit === "pct" ? 1 : Math.max(digitsFor(largest, whole), whole ? 0 : digitsOfSmall(largest, column.unit, scale));
  return isMoment(column.key) ? Math.max(usual, digitsOfMoments(rows, index, column, scale)) : usual;
}

function digitsOfMoments(rows: readonly Row[], index: number, column: Column, scale: Scale): number {
  const values = rows.map((row) => row[index] ?? null);
  return distinguishingDigits(values, column.unit, scale.divisor);
}

function isNumeric(column: Column): boolean {
  return column.type === "number" || column.type === "integer";
}

/** Whether a column holds differences, which have a sign. */
export function isDelta(column: Column): boolean {
  return column.key.startsWith("delta_");
}

/** Whether more is better, as for throughput and unlike for times. */
export function isRate(column: Column): boolean {
  return column.key.startsWith("delta_rate_");
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
  shown: (row: Row) => Scalar,
  { numberPx, openerPx }: { readonly numberPx: number; readonly openerPx: (row: Row) => number },
): Pick<ColumnView, "width" | "idealWidth"> {
  // A title wraps into two or three lines, but not inside a word.
  const longestWordPx = Math.max(...column.title.split(" ").map(textPx)) * BOLD;
  const halfTitlePx = column.title.length * 0.55 * characterPx();
  const titlePx = Math.max(longestWordPx, halfTitlePx) + SORT_MARK_CHARACTERS * characterPx();
  const titleTwoLines = Math.max(MIN_NUMBER_PX, titlePx + CELL_PADDING_PX);
  if (column.type !== "string") {
    const width = Math.ceil(Math.max(titleTwoLines, numberPx + CELL_PADDING_PX));
    return { width, idealWidth: width };
  }
  let longestPx = 0;
  for (const row of rows.slice(0, SAMPLED_ROWS)) longestPx = Math.max(longestPx, textPx(visibleText(String(shown(row) ?? ""))) + openerPx(row));
  const ideal = Math.ceil(Math.max(MIN_TEXT_PX, titleTwoLines, longestPx + CELL_PADDING_PX));
  return { width: Math.min(MAX_TEXT_PX, ideal), idealWidth: ideal };
}

/** The text of a cell, without the unit, which is in the header. */
export function cellText(view: ColumnView, value: Scalar): string {
  if (value === null) return NO_VALUE;
  if (typeof value === "boolean") return value ? "Yes" : "No";
  if (typeof value === "string") return visibleText(value);
  if (value === 0) return "0";
  const shown = value / view.scale.divisor;
  const none = nearlyNone(shown, view.digits);
  if (none !== null) return none;
  const text = nearlyAll(shown, view.digits, view.column.unit) ?? formatNumber(shown, view.digits);
  return (isDelta(view.column) && value > 0 ? "+" : "") + text;
}

/** For hovering: the exact value, or why it is missing. */
export function cellTitle(view: ColumnView, value: Scalar): string {
  if (value === null) return view.nullReason ?? "Does not apply to this row.";
  return visibleText(exactValue(value, view.column.unit));
}

/** For hovering the cell of a row. */
export function rowTitle(view: ColumnView, row: Row): string {
  return view.names === null ? cellTitle(view, row[view.index] ?? null) : visibleText(fullNames(view.names(row)));
}

/** The value of a cell for copying: for a kernel its full name, demangled in that mode. */
export function exactCell(view: ColumnView, row: Row, mode: NameMode): Scalar {
  return view.names === null ? (row[view.index] ?? null) : shownName(view.names(row), mode === "demangled" ? mode : "recorded");
}

/** For hovering the header. */
export function headerTitle({ column, scale }: ColumnView): string {
  const unit = scale.label === "" ? "" : ` (${scale.label})`;
  const estimate = column.estimated ? "\nThis is an estimate." : "";
  return `${column.title}${unit}\n${column.help}${estimate}`;
}
