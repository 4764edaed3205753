/**
 * Percentages that are known within bounds only: where `x_pct` is null, `x_min_pct` and `x_max_pct` of the same
 * row may bound it. Bounds are shown as "11.5–87.7".
 */
import type { Row, Table } from "../api/types";
import { formatNumber } from "./format";

export interface Bounds {
  readonly min: number;
  readonly max: number;
}

const SHARE = /_pct$/;
const BOUND = /_(?:min|max)_pct$/;
const DIGITS = 1;

/** The keys of the bounds of a percentage. */
export function boundKeys(key: string): { readonly min: string; readonly max: string } {
  return { min: key.replace(SHARE, "_min_pct"), max: key.replace(SHARE, "_max_pct") };
}

/** The bounds of a percentage in a row; null when the row has none. */
export function boundsOf(table: Table, row: Row, key: string): Bounds | null {
  if (!SHARE.test(key) || BOUND.test(key)) return null;
  const keys = boundKeys(key);
  const [min, max] = [keys.min, keys.max].map((bound) => row[table.columns.findIndex((column) => column.key === bound)]);
  return typeof min === "number" && typeof max === "number" ? { min, max } : null;
}

/** The key of the percentage that `key` bounds; null when `key` is not a bound. */
export function boundedKey(key: string): string | null {
  return BOUND.test(key) ? key.replace(BOUND, "_pct") : null;
}

/** Whether a column is only the bound of another column of its table. */
export function isBound(table: Table, key: string): boolean {
  const bounded = boundedKey(key);
  return bounded !== null && table.columns.some((column) => column.key === bounded);
}

/** Without the unit. */
export function boundsText({ min, max }: Bounds): string {
  return `${formatNumber(min, DIGITS)}–${formatNumber(max, DIGITS)}`;
}

/** For hovering. */
export function boundsTitle({ min, max }: Bounds): string {
  return `At least ${formatNumber(min, DIGITS)} %, at most ${formatNumber(max, DIGITS)} %; the rest is unknown.`;
}
