/** The loads of experts as a matrix: a row per layer, in it the ranks that compute it. */
import type { Row, Table } from "../../api/types";
import { numberOf, textOf } from "../../lib/rows";
import type { Arrangement, MatrixRank } from "../rankMatrix/arrange";

export interface LoadMatrix {
  readonly cells: readonly MatrixRank[];
  readonly arrangement: Arrangement;
}

/** A rank this far above the mean of its layer is marked. */
const MARKED_RATIO = 1.5;

/**
 * The cells of one measure.
 *
 * @param table One row per layer and worker, by layer.
 * @param key The column that colours them.
 * @param rankOf Worker → rank, where it is recorded.
 */
export function loadMatrix(table: Table, key: string, rankOf: ReadonlyMap<string, number>): LoadMatrix {
  const labels: string[] = [];
  const rowOf = new Map<string, number>();
  const columnOf = new Map<string, number>();
  const widths = new Map<string, number>();
  const positions = table.rows.map((row) => {
    const label = layerOf(table, row);
    const at = rowOf.get(label) ?? labels.push(label) - 1;
    rowOf.set(label, at);
    // Ranks of other stages compute other layers: each stage counts its own.
    const stage = textOf(table, row, "stage");
    const own = `${stage}\n${textOf(table, row, "worker")}`;
    const column = columnOf.get(own) ?? widths.get(stage) ?? 0;
    if (!columnOf.has(own)) widths.set(stage, column + 1);
    columnOf.set(own, column);
    return [at, column] as const;
  });
  const width = Math.max(1, ...widths.values());
  const cells = new Int32Array(Math.max(1, labels.length) * width).fill(-1);
  positions.forEach(([row, column], index) => (cells[row * width + column] = index));
  const isStaged = widths.size > 1;
  return {
    cells: table.rows.map((row) => {
      const worker = textOf(table, row, "worker");
      return { worker, rank: rankOf.get(worker) ?? null, value: numberOf(table, row, key), isOutlier: (numberOf(table, row, "load_ratio") ?? 0) >= MARKED_RATIO };
    }),
    arrangement: {
      id: "given",
      title: "Layer",
      rows: { title: isStaged ? "stage and layer" : "layer", labels },
      columns: { title: isStaged ? "rank of the stage" : "rank", labels: Array.from({ length: width }, (_, column) => `+${column}`) },
      cells,
    },
  };
}

/** `stage 1 · pass 3 · backward`: with no part that is unknown. */
export function layerOf(table: Table, row: Row): string {
  const stage = numberOf(table, row, "stage");
  const parts = [stage === null ? "" : `stage ${stage}`, textOf(table, row, "layer"), textOf(table, row, "direction")];
  return parts.filter((part) => part !== "").join(" · ");
}
