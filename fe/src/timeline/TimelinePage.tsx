/** The timeline of one trace: asks what tracks there are and shows them. */
import { lazy, Suspense } from "react";

import { apiUrl } from "../api/client";
import { useResource } from "../api/hooks";
import { FailureCard, PendingCard } from "../app/SpanState";
import type { TimelineTracksAnswer } from "../generated/schema";
import type { PageProps } from "../pages/ViewFrame";
import { traceQuery } from "../state/target";

/** Fetched when it is first looked at, while the server lays out the tracks. */
const importView = () => import("./TimelineView");
const TimelineView = lazy(async () => ({ default: (await importView()).TimelineView }));

export function TimelinePage({ target }: PageProps) {
  const trace = traceQuery(target);
  const url = apiUrl("timeline/tracks", trace);
  const tracks = useResource<TimelineTracksAnswer>(url);
  if (tracks.state === "pending") return <PendingCard span={tracks.span} run={target.run} />;
  if (tracks.state === "failed") return <FailureCard title="The timeline cannot be shown" file={target.span.file} failure={tracks.failure} />;
  const waiting = <p className="soft">Laying out the tracks …</p>;
  if (tracks.state === "loading") return waiting;
  return (
    <Suspense fallback={waiting}>
      <TimelineView key={url} tracks={tracks.data} target={target} />
    </Suspense>
  );
}
