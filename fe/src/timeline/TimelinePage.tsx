/** The timeline of one trace: asks what tracks there are and shows them. */
import { apiUrl } from "../api/client";
import { useResource } from "../api/hooks";
import { FailureCard, PendingCard } from "../app/SpanState";
import type { TimelineTracksAnswer } from "../generated/schema";
import type { PageProps } from "../pages/ViewFrame";
import { traceQuery } from "../state/target";
import { TimelineView } from "./TimelineView";
import "./timeline.css";

export function TimelinePage({ target }: PageProps) {
  const trace = traceQuery(target);
  const url = apiUrl("timeline/tracks", trace);
  const tracks = useResource<TimelineTracksAnswer>(url);
  if (tracks.state === "pending") return <PendingCard span={tracks.span} run={target.run} />;
  if (tracks.state === "failed") return <FailureCard title="The timeline cannot be shown" file={target.span.file} failure={tracks.failure} />;
  if (tracks.state === "loading") return <p className="soft">Laying out the tracks …</p>;
  return <TimelineView key={url} tracks={tracks.data} target={target} />;
}
