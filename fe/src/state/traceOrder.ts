/** The order of runs: readable before broken, newest first. */
import type { Run, Runs, Span } from "../api/types";

/** When a trace was recorded, in seconds since 1970: from its file name, else the modification time. */
export function dateOf(span: Span): number | null {
  return span.recorded_s ?? span.modified_s;
}

export function spansOf(run: Run): readonly Span[] {
  return run.workers.flatMap((worker) => worker.spans);
}

/** The newest date of a run's files; null when none has a date. */
export function runDate(run: Run): number | null {
  return spansOf(run).reduce<number | null>((newest, span) => {
    const date = dateOf(span);
    return date === null ? newest : Math.max(newest ?? date, date);
  }, null);
}

/** Whether some file may be readable. An empty file is broken even before it is opened. */
export function isReadable(run: Run): boolean {
  return spansOf(run).some(({ state, size_bytes }) => state !== "failed" && !(state === "queued" && size_bytes === 0));
}

/** Readable runs before the others, newer before older; ties in the order of the server. */
export function newestFirst(runs: Runs["runs"]): Run[] {
  const rank = (run: Run) => (isReadable(run) ? 0 : 1);
  const date = (run: Run) => runDate(run) ?? -Infinity;
  return runs.filter((run) => spansOf(run).length > 0).toSorted((a, b) => rank(a) - rank(b) || (date(a) === date(b) ? 0 : date(b) - date(a)));
}
