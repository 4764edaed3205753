/** A data pipeline as a tree: each operation with its inputs. */
import type { Table } from "../../api/types";
import { cellOf, numberOf, textOf } from "../../lib/rows";

export interface Operation {
  readonly id: string;
  readonly type: string;
  readonly workers: number | null;
  /** How full the queue behind it is; null without a queue, or when unknown. */
  readonly queuePct: number | null;
  readonly queueMean: number | null;
  readonly capacity: number | null;
  readonly isBottleneck: boolean;
  /** Time per batch in µs; null when it was not measured. */
  readonly timeUs: number | null;
  /** Share of its workers' time; null when it was not measured. */
  readonly busyPct: number | null;
  /** The loader of the stage; null for operations identified by a number. */
  readonly loader: string | null;
  readonly inputs: readonly Operation[];
}

/** Larger pipelines are not drawn; the table has them. */
export const MAX_OPERATIONS = 60;
const MAX_DEPTH = 24;

/** Stages of loaders are named "loader 0, training: fetch", operations of MindData by a number. */
function loaderOf(operation: string): string | null {
  const end = operation.lastIndexOf(": ");
  return end < 0 ? null : operation.slice(0, end);
}

/** The last operations with their inputs; empty when there are too many to draw. */
export function pipelineTree(table: Table): readonly Operation[] {
  if (table.rows.length > MAX_OPERATIONS) return [];
  const inputs = new Map<string, (typeof table.rows)[number][]>();
  for (const row of table.rows) {
    const parent = cellOf(table, row, "parent");
    const key = parent === null ? "" : String(parent);
    inputs.set(key, [...(inputs.get(key) ?? []), row]);
  }
  let deepest = 0;
  const operationsBelow = (key: string, depth: number): Operation[] => {
    deepest = Math.max(deepest, depth);
    if (depth > MAX_DEPTH) return [];
    return (inputs.get(key) ?? []).map((row) => ({
      id: textOf(table, row, "operation"),
      type: textOf(table, row, "type"),
      workers: numberOf(table, row, "workers"),
      queuePct: numberOf(table, row, "queue_pct"),
      queueMean: numberOf(table, row, "queue_mean"),
      capacity: numberOf(table, row, "queue_capacity"),
      isBottleneck: cellOf(table, row, "bottleneck") === true,
      timeUs: numberOf(table, row, "time_mean_us"),
      busyPct: numberOf(table, row, "busy_pct"),
      loader: loaderOf(textOf(table, row, "operation")),
      inputs: operationsBelow(textOf(table, row, "operation"), depth + 1),
    }));
  };
  const last = operationsBelow("", 0);
  return deepest > MAX_DEPTH ? [] : last;
}
