/** Differences of two recordings besides the code, grouped by whether they differ. */
import type { Row, Table } from "../../api/types";
import { cellOf, textOf } from "../../lib/rows";

export interface EnvironmentRow {
  readonly aspect: string;
  /** Empty where the side has no value. */
  readonly baseline: string;
  readonly candidate: string;
  /** Why it is unknown whether it differs; else empty. */
  readonly reason: string;
  readonly importance: string;
  /** Whether it forbids comparing times. */
  readonly isWarning: boolean;
}

export interface Environment {
  readonly differing: readonly EnvironmentRow[];
  readonly unknown: readonly EnvironmentRow[];
  readonly same: readonly EnvironmentRow[];
}

export function environmentOf(table: Table): Environment {
  // File problems count as different even on both sides, as they forbid comparing times.
  const kind = (row: Row) => (textOf(table, row, "severity") === "warning" ? false : cellOf(table, row, "same"));
  const rowsWith = (same: boolean | null) => table.rows.filter((row) => kind(row) === same).map((row) => environmentRow(table, row));
  return { differing: rowsWith(false), unknown: rowsWith(null), same: rowsWith(true) };
}

function environmentRow(table: Table, row: Row): EnvironmentRow {
  const text = (key: string) => textOf(table, row, key);
  return {
    aspect: text("what"),
    baseline: text("baseline"),
    candidate: text("candidate"),
    reason: text("reason"),
    importance: text("why"),
    isWarning: text("severity") === "warning",
  };
}

/** Whether neither the environment nor any part of the step differs, as far as known. */
export function isIdentical({ differing }: Environment, parts: Table | undefined, totalUs: number | null): boolean {
  const isZero = (row: Row) => parts !== undefined && cellOf(parts, row, "delta_time_us") === 0;
  return differing.length === 0 && totalUs === 0 && (parts?.rows ?? []).every(isZero);
}
