/** The recordings that could be drawn below the one of the page. */
import { useMemo } from "react";

import { useRuns } from "../api/runs";
import { formatRecording, type Recording } from "./secondRecording";

/** More recordings than these are not listed: a folder may hold thousands. */
const MAX_LISTED = 500;

export function useRecordings(own: Recording): readonly Recording[] {
  const { runs } = useRuns();
  const data = runs.state === "ready" ? runs.data : null;
  const ownText = formatRecording(own);
  return useMemo(
    () =>
      (data?.runs ?? [])
        .flatMap((run) => run.workers.flatMap((worker) => worker.spans.map((span): Recording => ({ run: run.name, worker: worker.name, span: span.name }))))
        .filter((each) => formatRecording(each) !== ownText)
        .slice(0, MAX_LISTED),
    [data, ownText],
  );
}
