/** From a row or a finding of another view to the timeline. */
import type { TimelineRange } from "../lib/evidence";
import type { Params } from "../state/address";
import { ViewLink } from "../ui/ViewLink";
import { findOnTimeline, rangeOnTimeline } from "./link";

export function ShowOnTimeline({ name }: { readonly name: string }) {
  return (
    <ViewLink view="timeline" params={findOnTimeline(name)} title="Find its slices on the timeline">
      Show on timeline
    </ViewLink>
  );
}

/** The worst occurrence of a finding: zoomed to and marked, on the timeline of its worker. */
export function ShowRangeOnTimeline({ range }: { readonly range: TimelineRange }) {
  const worker: Params = range.worker === null ? {} : { worker: range.worker };
  return (
    <ViewLink view="timeline" params={{ ...worker, ...rangeOnTimeline(range, range.slice) }} title="Zoom to it on the timeline" className="button">
      Show me{range.worker !== null && ` on ${range.worker}`}
    </ViewLink>
  );
}
