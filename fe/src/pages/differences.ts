/** What differs between two recordings beside the code, sorted for reading. */
import type { Row, Table } from "../api/types";
import { cellOf, textOf } from "../lib/rows";

export interface Surrounding {
  readonly what: string;
  /** Empty where the side does not say. */
  readonly baseline: string;
  readonly candidate: string;
  /** Why it is not known whether it differs; empty where it is. */
  readonly reason: string;
  readonly why: string;
  /** Times cannot be compared for it. */
  readonly isWarning: boolean;
}

export interface Surroundings {
  readonly differing: readonly Surrounding[];
  readonly unknown: readonly Surrounding[];
  readonly same: readonly Surrounding[];
}

export function surroundingsOf(table: Table): Surroundings {
  // Damage of both sides is the same, and forbids to compare still.
  const kind = (row: Row) => (textOf(table, row, "severity") === "warning" ? false : cellOf(table, row, "same"));
  const those = (same: boolean | null) => table.rows.filter((row) => kind(row) === same).map((row) => surrounding(table, row));
  return { differing: those(false), unknown: those(null), same: those(true) };
}

function surrounding(table: Table, row: Row): Surrounding {
  const text = (key: string) => textOf(table, row, key);
  return {
    what: text("what"),
    baseline: text("baseline"),
    candidate: text("candidate"),
    reason: text("reason"),
    why: text("why"),
    isWarning: text("severity") === "warning",
  };
}

/** Whether neither the surroundings nor any part of the step differ, as far as is known. */
export function nothingDiffers({ differing }: Surroundings, parts: Table | undefined, totalUs: number | null): boolean {
  const isZero = (row: Row) => parts !== undefined && cellOf(parts, row, "delta_time_us") === 0;
  return differing.length === 0 && totalUs === 0 && (parts?.rows ?? []).every(isZero);
}
