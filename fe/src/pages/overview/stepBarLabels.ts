/** What is written at the step bar: the part without device work, and the longest gap. */
import type { Table, View } from "../../api/types";
import type { SharePart } from "../../chart/ShareCard";
import type { TimelineRange } from "../../lib/evidence";
import { formatValue } from "../../lib/format";
import { numberOf, textOf } from "../../lib/rows";
import { deviceWord } from "./dashboardFacts";

/** The categories of device work, which come first. */
const DEVICE_WORK = 4;
/** The text does not fit into less. */
const LEAST_PCT = 8;

export interface Bracket {
  readonly startPct: number;
  readonly text: string;
}

/** The rest of the bar behind the device work; null without devices, or where it is too short to be labelled. */
export function idleBracket(parts: readonly SharePart[], gpus: Table): Bracket | null {
  if (gpus.row_count === 0) return null;
  const startPct = parts.slice(0, DEVICE_WORK).reduce((sum, { pct }) => sum + (pct ?? 0), 0);
  const idlePct = parts.slice(DEVICE_WORK).reduce((sum, { pct }) => sum + (pct ?? 0), 0);
  const word = deviceWord(gpus);
  return idlePct < LEAST_PCT ? null : { startPct, text: `${gpus.row_count > 1 ? `all ${word}s` : word} idle ${formatValue(idlePct, "pct")}` };
}

export interface Gap {
  readonly length: string;
  /** " in step 5, 99.4 % DataLoader" */
  readonly where: string;
  readonly range: TimelineRange;
}

export function gapOf({ tables: { longest_gap: table, steps } }: Pick<View, "tables">): Gap | null {
  const row = table?.rows[0];
  if (table === undefined || row === undefined) return null;
  const [startUs, durationUs] = [numberOf(table, row, "start_us"), numberOf(table, row, "duration_us")];
  if (startUs === null || durationUs === null) return null;
  const step = steps !== undefined && steps.row_count > 1 ? ` in step ${textOf(table, row, "step")}` : "";
  const share = `${formatValue(numberOf(table, row, "category_pct"), "pct")} ${textOf(table, row, "category")}`;
  const startNs = Math.round(startUs * 1000);
  return {
    length: formatValue(durationUs, "us"),
    where: `${step}, ${share}`,
    range: { startNs, endNs: startNs + Math.round(durationUs * 1000), slice: null, worker: null },
  };
}
