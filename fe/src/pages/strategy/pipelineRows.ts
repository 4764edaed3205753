/** The passes of a pipeline as rows of blocks, one row per stage. */
import type { Table } from "../../api/types";
import { numberOf, textOf } from "../../lib/rows";

export interface PassBlock {
  readonly kind: string;
  readonly microbatch: number | null;
  /** Stage of the model, where a rank holds several. */
  readonly chunk: number | null;
  readonly startUs: number;
  readonly endUs: number;
}

export interface StageRow {
  readonly stage: number;
  readonly rank: number | null;
  readonly worker: string;
  /** By start. */
  readonly blocks: readonly PassBlock[];
}

export interface PipelineRows {
  readonly step: string;
  readonly stages: readonly StageRow[];
  readonly endUs: number;
}

export function pipelineRows(table: Table): PipelineRows {
  const byStage = new Map<number, { rank: number | null; worker: string; blocks: PassBlock[] }>();
  let endUs = 0;
  for (const row of table.rows) {
    const [stage, startUs, durationUs] = ["stage", "start_us", "duration_us"].map((key) => numberOf(table, row, key) ?? 0) as [number, number, number];
    const known = byStage.get(stage) ?? { rank: numberOf(table, row, "rank"), worker: textOf(table, row, "worker"), blocks: [] };
    byStage.set(stage, known);
    known.blocks.push({ kind: textOf(table, row, "kind"), microbatch: numberOf(table, row, "microbatch"), chunk: numberOf(table, row, "chunk"), startUs, endUs: startUs + durationUs });
    endUs = Math.max(endUs, startUs + durationUs);
  }
  const stages = [...byStage].sort(([a], [b]) => a - b).map(([stage, { blocks, ...row }]) => ({ stage, ...row, blocks: blocks.sort((a, b) => a.startUs - b.startUs) }));
  const [first] = table.rows;
  return { step: first === undefined ? "" : textOf(table, first, "step"), stages, endUs };
}

/** The block of a row at a time; null between blocks. */
export function blockAt({ blocks }: StageRow, us: number): PassBlock | null {
  return blocks.findLast(({ startUs, endUs }) => startUs <= us && us < endUs) ?? null;
}
