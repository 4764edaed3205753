/** Fetches the tracks of every stacked worker and the offsets between their clocks. */
import { useMemo } from "react";

import type { Query } from "../api/client";
import { useAnswer, useAnswers } from "../api/hooks";
import type { Resource } from "../api/resource";
import type { TimelineClocksAnswer, TimelineTracksAnswer } from "../generated/schema";
import type { StackedWorker } from "./stack";

export interface StackedWorkers {
  readonly others: readonly StackedWorker[];
  /** Workers that cannot be stacked, and why. */
  readonly problems: readonly string[];
}

const NO_WORKERS: StackedWorkers = { others: [], problems: [] };

/** What became of the workers to be stacked. */
interface StackedAnswer {
  /** Null while something is still being read. */
  readonly workers: StackedWorkers | null;
  /** Of how many workers the tracks are known. */
  readonly settled: number;
}

/**
 * @param trace The trace the page is about.
 * @param names The workers stacked below it.
 */
export function useStackedWorkers(trace: Query, names: readonly string[]): StackedAnswer {
  const isAlone = names.length === 0;
  const run = { ...trace, worker: null };
  const clocks = useAnswer<TimelineClocksAnswer>(isAlone ? null : "timeline/clocks", trace, run);
  const tracks = useAnswers<TimelineTracksAnswer>(names.map((worker) => ({ route: "timeline/tracks", query: { ...trace, worker } })), run);
  const key = names.join("\n");
  return useMemo(() => {
    if (key === "") return { workers: NO_WORKERS, settled: 0 };
    const isSettled = ({ state }: Resource<unknown>) => state === "ready" || state === "failed";
    const settled = tracks.filter(isSettled).length;
    const isComplete = settled === tracks.length && isSettled(clocks);
    return { workers: isComplete ? stackedWorkers(trace, key.split("\n"), clocks, tracks) : null, settled };
  }, [trace, key, clocks, tracks]);
}

function stackedWorkers(
  trace: Query,
  names: readonly string[],
  clocks: Resource<TimelineClocksAnswer>,
  tracks: readonly Resource<TimelineTracksAnswer>[],
): StackedWorkers {
  const others: StackedWorker[] = [];
  const problems: string[] = clocks.state === "failed" ? [`The clocks of the workers cannot be compared: ${clocks.failure.message}`] : [];
  names.forEach((worker, index) => {
    const answer = tracks[index];
    if (answer?.state === "failed") problems.push(`${worker} is not stacked: ${answer.failure.message}`);
    if (answer?.state !== "ready") return;
    const clock = clocks.state === "ready" ? clocks.data.workers.find((each) => each.worker === worker) : undefined;
    others.push({ worker, query: { ...trace, worker }, tracks: answer.data, offsetNs: clock?.offset_ns ?? null, collectives: clock?.collectives ?? 0, uncertaintyNs: clock?.uncertainty_ns ?? null });
  });
  return { others, problems };
}
