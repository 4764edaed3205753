/** The timeline of a trace, or of several workers of its run. */
import { lazy, Suspense, useMemo } from "react";

import type { Query } from "../api/client";
import { useAnswer } from "../api/hooks";
import type { TimelineTracksAnswer } from "../generated/schema";
import { iterationsByQuery } from "../state/selection";
import { traceQuery } from "../state/target";
import { useParams } from "../state/urlStore";
import { recordingTitle } from "../timeline/secondRecording";
import { formatLevels, parseLevels } from "../timeline/levels";
import { parseStack } from "../timeline/link";
import { stackOf } from "../timeline/stack";
import { useBands } from "../timeline/useBands";
import { useSecondRecording } from "../timeline/useSecondRecording";
import { useStackedWorkers } from "../timeline/useStackedWorkers";
import { FailureCard, NoDataCard, PendingCard } from "../ui/stateCards";
import { IterationsByFailure } from "./iterationsBy/IterationsByFailure";
import { isIterationsByFailure } from "./iterationsBy/suggestedNames";
import type { PageProps } from "./ViewFrame";

/** Loaded with the first visit, while the server lays out the tracks. */
const importView = () => import("../timeline/TimelineView");
const TimelineView = lazy(async () => ({ default: (await importView()).TimelineView }));

export function TimelinePage({ info, target }: PageProps) {
  const params = useParams();
  // The iterations are part of it, as the row of steps shows them.
  const traceText = JSON.stringify({ ...traceQuery(target), ...iterationsByQuery(params), levels: formatLevels(parseLevels(params["levels"])) });
  const trace = useMemo(() => JSON.parse(traceText) as Query, [traceText]);
  const answer = useAnswer<TimelineTracksAnswer>("timeline/tracks", trace);
  const tracks = answer.state === "ready" ? answer.data : null;

  const { worker, span } = target;
  const otherWorkers = target.run.workers.filter(({ name, spans }) => name !== worker.name && spans.some((each) => each.name === span.name)).map(({ name }) => name);
  const stackedNames = parseStack(params["stack"]);
  const names = otherWorkers.filter((name) => stackedNames.has(name));
  const stacked = useStackedWorkers(trace, tracks === null ? [] : names);
  const bandText = params["ranks"] ?? "";
  const banded = useBands(trace, tracks === null ? "" : bandText);
  const second = useSecondRecording(trace);
  const label = second === null || second.others.length === 0 ? worker.name : recordingTitle({ run: target.run.name, worker: worker.name });
  const stack = useMemo(
    () =>
      tracks === null || stacked.workers === null || second === null || banded === null
        ? null
        : stackOf({ worker: label, query: trace, tracks, offsetNs: 0, collectives: 0 }, [...stacked.workers.others, ...second.others], banded.bands),
    [label, trace, tracks, stacked, second, banded],
  );

  if (answer.state === "pending") return <PendingCard span={answer.span} run={target.run} />;
  if (answer.state === "failed" && isIterationsByFailure(answer.failure)) return <IterationsByFailure target={target} failure={answer.failure} />;
  if (answer.state === "failed") return <FailureCard title="The timeline cannot be shown" file={target.span.file} failure={answer.failure} />;
  if (tracks?.slices === 0 && tracks.tracks.length === 0) return <NoDataCard view={info} reason="The recording contains no events." />;
  const waiting = <p className="soft">{tracks === null || (names.length === 0 && bandText === "") ? "Laying out the tracks …" : names.length === 0 ? "Aligning the clocks of the ranks …" : `Reading ${names.length} more workers, ${stacked.settled} done …`}</p>;
  if (stack === null) return waiting;
  return (
    <Suspense fallback={waiting}>
      <TimelineView key={`${traceText} ${names.join(" ")} ${params["below"] ?? ""} ${params["zeros"] ?? ""} ${bandText}`} stack={stack} target={target} otherWorkers={otherWorkers} problems={[...(stacked.workers?.problems ?? []), ...(banded?.problems ?? []), ...(second?.problems ?? [])]} />
    </Suspense>
  );
}
