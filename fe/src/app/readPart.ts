/** Which part of a recording the server reads, for everybody, from now on. */
import { apiUrl, fetchJson } from "../api/client";
import { fetchUncached } from "../api/queryClient";
import { refetchRuns } from "../api/runs";
import type { Opened } from "../api/types";
import { NO_SELECTION } from "../state/selection";
import { traceQuery, type Target } from "../state/target";
import { navigate } from "../state/urlStore";

export interface RecordingPart {
  readonly only_us?: string;
  readonly only_steps?: string;
}

/**
 * @param part Neither: all of it.
 * @throws ApiError when the part is malformed.
 */
export async function readPart(target: Target, part: RecordingPart): Promise<void> {
  const { run, worker, span } = await fetchUncached(apiUrl("part", { ...traceQuery(target), ...part }), fetchJson<Opened>);
  await refetchRuns();
  navigate({ run, worker, span, ...NO_SELECTION });
}
