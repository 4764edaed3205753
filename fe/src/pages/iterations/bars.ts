/** The iterations as stacked bars: what they are made of, and which pixels show which of them. */
import type { Table } from "../../api/types";
import { colorVariable } from "../../chart/palette";
import { roundStep } from "../../lib/roundStep";
import { hasColumn } from "../../lib/rows";

/** From the bottom up: what each moment of an iteration is spent on, each moment once. */
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
  /** Those on which some iteration spends time. */
  readonly parts: readonly BarPart[];
  /** Length of each iteration, µs. */
  readonly total: Float64Array;
  /** 1 for those in the selection. */
  readonly selected: Uint8Array;
}

export function barsOf(table: Table): Bars {
  const place = (key: string) => table.columns.findIndex((column) => column.key === key);
  const numbers = (key: string) => {
    const at = place(key);
    return Float64Array.from(table.rows, (row) => Number(row[at] ?? 0));
  };
  const [nameAt, selectedAt] = [place("iteration"), place("selected")];
  const parts = PART_KEYS.filter((key) => hasColumn(table, key)).map((key, index): BarPart => {
    const title = table.columns[place(key)]?.title ?? key;
    return { key, title, color: colorVariable(key, index), values: numbers(key) };
  });
  return {
    names: table.rows.map((row) => String(row[nameAt] ?? "")),
    parts: parts.filter(({ values }) => values.some((value) => value > 0)),
    total: numbers("duration_us"),
    selected: Uint8Array.from(table.rows, (row) => (row[selectedAt] === false ? 0 : 1)),
  };
}

/** Iterations from `from` to before `to`, drawn over a width. */
export interface Window {
  readonly from: number;
  readonly to: number;
  readonly widthPx: number;
}

/**
 * Which iteration every bar shows. There are never more bars than pixels: where several iterations share one,
 * it shows the longest of them, so that none that stands out is lost.
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

/** The iteration at a place, of one beside the window the nearest. */
export function iterationAt(x: number, { from, to, widthPx }: Window): number {
  const place = from + Math.floor((x / widthPx) * (to - from));
  return Math.max(from, Math.min(to - 1, place));
}

/** Where the iteration `edge` begins; that of one beyond the last is the end. */
export function edgeX(edge: number, { from, to, widthPx }: Window): number {
  return to === from ? 0 : ((edge - from) / (to - from)) * widthPx;
}

/** The edge between two iterations that is nearest. */
export function nearestEdge(x: number, { from, to, widthPx }: Window): number {
  const edge = from + Math.round((x / widthPx) * (to - from));
  return Math.max(from, Math.min(to, edge));
}

/** Round values from 0 up to `most`, at most `count` of them above 0. */
export function ticksUpTo(most: number, count: number): number[] {
  if (!(most > 0)) return [0];
  const step = roundStep(most / count);
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, place) => place * step);
}
