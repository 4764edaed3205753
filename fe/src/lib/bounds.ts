/**
 * Shares that are known as bounds only: where `x_pct` is null, `x_min_pct` and `x_max_pct` of the same row
 * may tell between which values it lies. A bound is not a value, so it is shown as "11.5–87.7".
 */
import type { Row, Table } from "../api/types";
import { formatNumber } from "./format";

export interface Bounds {
  readonly least: number;
  readonly most: number;
}

const SHARE = /_pct$/;
const BOUND = /_(?:min|max)_pct$/;
const DIGITS = 1;

/** The keys of the bounds of a share. */
export function boundKeys(key: string): { readonly least: string; readonly most: string } {
  return { least: key.replace(SHARE, "_min_pct"), most: key.replace(SHARE, "_max_pct") };
}

/** The bounds that a row tells of a share; null where it tells none. */
export function boundsOf(table: Table, row: Row, key: string): Bounds | null {
  if (!SHARE.test(key) || BOUND.test(key)) return null;
  const keys = boundKeys(key);
  const [least, most] = [keys.least, keys.most].map((bound) => row[table.columns.findIndex((column) => column.key === bound)]);
  return typeof least === "number" && typeof most === "number" ? { least, most } : null;
}

/** The key of the share that `key` bounds; null where it is no bound. */
export function boundedKey(key: string): string | null {
  return BOUND.test(key) ? key.replace(BOUND, "_pct") : null;
}

/** Whether a column only bounds another one of its table. */
export function isBound(table: Table, key: string): boolean {
  const bounded = boundedKey(key);
  return bounded !== null && table.columns.some((column) => column.key === bounded);
}

/** Without the unit. */
export function boundsText({ least, most }: Bounds): string {
  return `${formatNumber(least, DIGITS)}–${formatNumber(most, DIGITS)}`;
}

/** For hovering. */
export function boundsTitle({ least, most }: Bounds): string {
  return `At least ${formatNumber(least, DIGITS)} %, at most ${formatNumber(most, DIGITS)} %: of the rest it is not known.`;
}
