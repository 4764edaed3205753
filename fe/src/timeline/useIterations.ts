/** The iterations that the address chooses, in times on screen; null where they are the trace's own steps. */
import { useMemo } from "react";

import { useView } from "../api/hooks";
import type { Table } from "../api/types";
import { numberOf, textOf } from "../lib/rows";
import { iterationsByText } from "../state/iterationsBy";
import { ITERATIONS_BY_KEY } from "../state/selection";
import { useParams } from "../state/urlStore";
import type { Iterations } from "./iterationMarks";
import type { StackPart } from "./stack";

const TABLE = "iterations";
/** More could not be distinguished on any screen. */
const MAX_ITERATIONS = 20_000;

export function useIterations(part: StackPart): Iterations | null {
  const isSplit = iterationsByText(useParams()[ITERATIONS_BY_KEY]) !== null;
  const answer = useView(isSplit ? "iterations" : null, { ...part.query, table: TABLE, only: TABLE, limit: MAX_ITERATIONS });
  const table = isSplit && answer.state === "ready" ? answer.data.tables[TABLE] : undefined;
  return useMemo(() => (table === undefined || table.rows.length === 0 ? null : iterationsOf(table, part)), [table, part]);
}

function iterationsOf(table: Table, { tracks, shiftNs }: StackPart): Iterations {
  const onScreen = (us: number) => (us - tracks.origin_us) * 1000 + shiftNs;
  const starts = table.rows.map((row) => numberOf(table, row, "start_us") ?? 0);
  const last = table.rows.at(-1);
  const lastUs = last === undefined ? 0 : (numberOf(table, last, "duration_us") ?? 0);
  return {
    names: table.rows.map((row) => textOf(table, row, "iteration")),
    startNs: Float64Array.from(starts, onScreen),
    endNs: onScreen((starts.at(-1) ?? 0) + lastUs),
  };
}
