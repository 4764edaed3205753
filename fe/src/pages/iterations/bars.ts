/** The iterations as stacked bars: their parts, and the mapping between iterations and pixels. */
import type { Table } from "../../api/types";
import { colorVariable } from "../../chart/palette";
import { roundStep } from "../../lib/roundStep";
import { hasColumn } from "../../lib/rows";

/** The parts of an iteration from the bottom up; every moment belongs to one part. */
const PART_KEYS = ["tensor_core_us", "other_kernels_us", "memory_us", "cpu_us", "other_us"] as const;

export interface BarPart {
  readonly key: string;
  readonly title: string;
  /** CSS variable. */
  readonly color: string;
  /** µs per iteration. */
  readonly values: Float64Array;
}

export interface Bars {
  readonly names: readonly string[];
  /** Parts with time in some iteration. */
  readonly parts: readonly BarPart[];
  /** Length of each iteration, µs. */
  readonly total: Float64Array;
  /** 1 for those in the selection. */
  readonly selected: Uint8Array;
}

/** Without the hidden parts (by title); iterations are as long as what is left of them. */
export function withoutParts(bars: Bars, hidden: ReadonlySet<string>): Bars {
  const parts = bars.parts.filter(({ title }) => !hidden.has(title));
  if (parts.length === bars.parts.length) return bars;
  return { ...bars, parts, total: bars.total.map((_, index) => parts.reduce((sum, { values }) => sum + (values[index] ?? 0), 0)) };
}

export function barsOf(table: Table): Bars {
  const columnIndex = (key: string) => table.columns.findIndex((column) => column.key === key);
  const numbers = (key: string) => {
    const at = columnIndex(key);
    return Float64Array.from(table.rows, (row) => Number(row[at] ?? 0));
  };
  const [nameAt, selectedAt] = [columnIndex("iteration"), columnIndex("selected")];
  const parts = PART_KEYS.filter((key) => hasColumn(table, key)).map((key, index): BarPart => {
    const title = table.columns[columnIndex(key)]?.title ?? key;
    return { key, title, color: colorVariable(key, index), values: numbers(key) };
  });
  return {
    names: table.rows.map((row) => String(row[nameAt] ?? "")),
    parts: parts.filter(({ values }) => values.some((value) => value > 0)),
    total: numbers("duration_us"),
    selected: Uint8Array.from(table.rows, (row) => (row[selectedAt] === false ? 0 : 1)),
  };
}

/** Iterations from `from` up to, not including, `to`, over a width. */
export interface Window {
  readonly from: number;
  readonly to: number;
  readonly widthPx: number;
}

/**
 * The iteration of every bar. There are never more bars than pixels: a bar for several iterations shows the longest
 * of them, so that no outlier is lost.
 */
export function barsShown(total: Float64Array, { from, to, widthPx }: Window): Int32Array {
  const count = Math.max(0, to - from);
  const bars = Math.max(0, Math.min(count, Math.floor(widthPx)));
  const shown = new Int32Array(bars);
  for (let bar = 0; bar < bars; bar++) {
    const end = from + Math.floor(((bar + 1) * count) / bars);
    let longest = from + Math.floor((bar * count) / bars);
    for (let each = longest + 1; each < end; each++) if ((total[each] ?? 0) > (total[longest] ?? 0)) longest = each;
    shown[bar] = longest;
  }
  return shown;
}

/** The iteration at `x`; the nearest one when `x` is outside. */
export function iterationAt(x: number, { from, to, widthPx }: Window): number {
  const columnIndex = from + Math.floor((x / widthPx) * (to - from));
  return Math.max(from, Math.min(to - 1, columnIndex));
}

/** The x of the edge before iteration `edge`. */
export function edgeX(edge: number, { from, to, widthPx }: Window): number {
  return to === from ? 0 : ((edge - from) / (to - from)) * widthPx;
}

/** The nearest edge between two iterations. */
export function nearestEdge(x: number, { from, to, widthPx }: Window): number {
  const edge = from + Math.round((x / widthPx) * (to - from));
  return Math.max(from, Math.min(to, edge));
}

/** Round values from 0 to `max`, at most `count` of them above 0. */
export function ticksUpTo(max: number, count: number): number[] {
  if (!(max > 0)) return [0];
  const step = roundStep(max / count);
  return Array.from({ length: Math.floor(max / step + 1e-9) + 1 }, (_, columnIndex) => columnIndex * step);
}
