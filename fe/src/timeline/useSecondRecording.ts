/** Fetches the tracks of the recording below the page's own, and the moments that are their zeros. */
import { useMemo } from "react";

import type { Query } from "../api/client";
import { useAnswer } from "../api/hooks";
import type { TimelineStepsAnswer, TimelineTracksAnswer } from "../generated/schema";
import { useParams } from "../state/urlStore";
import { stackedRecording, parseRecording, parseZeros, zeroNs } from "./secondRecording";
import type { StackedWorkers } from "./useStackedWorkers";

const NONE: StackedWorkers = { others: [], problems: [] };

/** @returns Null while something is still being read. */
export function useSecondRecording(trace: Query): StackedWorkers | null {
  const { below: text, zeros: zerosText } = useParams() as Record<string, string | undefined>;
  const recording = useMemo(() => parseRecording(text), [text]);
  const zeros = useMemo(() => parseZeros(zerosText), [zerosText]);
  const query = useMemo<Query>(() => ({ ...recording }), [recording]);
  const [own, other] = zeros;
  const tracks = useAnswer<TimelineTracksAnswer>(recording === null ? null : "timeline/tracks", query);
  const ownSteps = useAnswer<TimelineStepsAnswer>(recording === null || own === null ? null : "timeline/steps", { ...trace, levels: null, steps: own });
  const otherSteps = useAnswer<TimelineStepsAnswer>(recording === null || other === null ? null : "timeline/steps", { ...query, steps: other });
  return useMemo(() => {
    if (recording === null) return NONE;
    const failed = [tracks, own === null ? null : ownSteps, other === null ? null : otherSteps].find((each) => each?.state === "failed");
    if (failed?.state === "failed") return { others: [], problems: [`${recording.run} is not drawn: ${failed.failure.message}`] };
    const isReady = tracks.state === "ready" && (own === null || ownSteps.state === "ready") && (other === null || otherSteps.state === "ready");
    if (!isReady) return null;
    const ownNs = zeroNs(own, ownSteps.state === "ready" ? ownSteps.data : null);
    const otherNs = zeroNs(other, otherSteps.state === "ready" ? otherSteps.data : null);
    if (ownNs === undefined || otherNs === undefined) return { others: [], problems: [`${recording.run} is not drawn: no such step.`] };
    return { others: [stackedRecording(recording, query, tracks.data, zeros, [ownNs, otherNs])], problems: [] };
  }, [recording, query, zeros, own, other, tracks, ownSteps, otherSteps]);
}
