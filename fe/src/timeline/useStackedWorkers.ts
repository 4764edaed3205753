/** Fetches what a stack is made of: the tracks of every worker and how far their clocks are apart. */
import { useEffect, useMemo, useState } from "react";

import { ApiError, apiUrl, type Query } from "../api/client";
import type { TimelineClocksAnswer, TimelineTracksAnswer } from "../generated/schema";
import { answerOf } from "./answerOf";
import type { StackedWorker } from "./stack";

export interface StackedWorkers {
  readonly others: readonly StackedWorker[];
  /** Workers that cannot be stacked, and why. */
  readonly problems: readonly string[];
}

const NOTHING: StackedWorkers = { others: [], problems: [] };
/**
 * @param trace The trace the page is about.
 * @param names The workers stacked below it.
 * @returns Null while something is still being read.
 */
export function useStackedWorkers(trace: Query, names: readonly string[]): StackedWorkers | null {
  const key = JSON.stringify([trace, names]);
  const [found, setFound] = useState<{ readonly key: string; readonly workers: StackedWorkers } | null>(null);
  useEffect(() => {
    const [asked, workers] = JSON.parse(key) as [Query, string[]];
    if (workers.length === 0) return;
    const abort = new AbortController();
    const ask = async () => {
      const stacked = await fetchWorkers(asked, workers, abort.signal);
      if (!abort.signal.aborted) setFound({ key, workers: stacked });
    };
    void ask();
    return () => abort.abort();
  }, [key]);
  const isAlone = names.length === 0;
  return useMemo(() => (isAlone ? NOTHING : found?.key === key ? found.workers : null), [isAlone, found, key]);
}

async function fetchWorkers(trace: Query, names: readonly string[], signal: AbortSignal): Promise<StackedWorkers> {
  const [clocks, ...tracks] = await Promise.all([
    answerOf<TimelineClocksAnswer>(apiUrl("timeline/clocks", trace), signal),
    ...names.map((worker) => answerOf<TimelineTracksAnswer>(apiUrl("timeline/tracks", { ...trace, worker }), signal)),
  ]);
  const others: StackedWorker[] = [];
  const problems: string[] = clocks instanceof ApiError ? [`The clocks of the workers cannot be compared: ${clocks.message}`] : [];
  names.forEach((worker, index) => {
    const answer = tracks[index];
    if (answer === undefined || answer instanceof ApiError) {
      problems.push(`${worker} is left out: ${answer?.message ?? ""}`);
      return;
    }
    const clock = clocks instanceof ApiError ? undefined : clocks.workers.find((each) => each.worker === worker);
    others.push({ worker, query: { ...trace, worker }, tracks: answer, offsetNs: clock?.offset_ns ?? null, collectives: clock?.collectives ?? 0 });
  });
  return { others, problems };
}
