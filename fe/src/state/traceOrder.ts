/** Which trace comes first where nobody named one: the newest that can be read. */
import type { Run, Runs, Span } from "../api/types";

/** When a trace was recorded, in seconds since 1970: by the name of its file, else when that was written. */
export function dateOf(span: Span): number | null {
  return span.recorded_s ?? span.modified_s;
}

export function spansOf(run: Run): readonly Span[] {
  return run.workers.flatMap((worker) => worker.spans);
}

/** The newest date of a run, null where no file of it has one. */
export function runDate(run: Run): number | null {
  return spansOf(run).reduce<number | null>((newest, span) => {
    const date = dateOf(span);
    return date === null ? newest : Math.max(newest ?? date, date);
  }, null);
}

/** Not all of it is known to be broken; an empty file is, though nobody has opened it yet. */
export function isReadable(run: Run): boolean {
  return spansOf(run).some(({ state, size_bytes }) => state !== "failed" && !(state === "queued" && size_bytes === 0));
}

/** Those that can be read before the others, newer before older; alike, as the server lists them. */
export function newestFirst(runs: Runs["runs"]): Run[] {
  const rank = (run: Run) => (isReadable(run) ? 0 : 1);
  const date = (run: Run) => runDate(run) ?? -Infinity;
  return runs.filter((run) => spansOf(run).length > 0).toSorted((a, b) => rank(a) - rank(b) || (date(a) === date(b) ? 0 : date(b) - date(a)));
}
