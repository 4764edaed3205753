/** From a row or a finding of another view to the timeline. */
import type { TimelineSpot } from "../lib/evidence";
import type { Params } from "../state/address";
import { ViewLink } from "../ui/ViewLink";
import { findOnTimeline, placeOnTimeline } from "./link";

export function ShowOnTimeline({ name }: { readonly name: string }) {
  return (
    <ViewLink view="timeline" params={findOnTimeline(name)} title="Find its slices on the timeline">
      Show on timeline
    </ViewLink>
  );
}

/** The worst of a finding: zoomed to and marked, on the timeline of the worker it is about. */
export function SpotOnTimeline({ spot }: { readonly spot: TimelineSpot }) {
  const worker: Params = spot.worker === null ? {} : { worker: spot.worker };
  return (
    <ViewLink view="timeline" params={{ ...worker, ...placeOnTimeline(spot, spot.slice) }} title="Zoom to the worst of it on the timeline">
      Show on timeline{spot.worker !== null && ` of ${spot.worker}`}
    </ViewLink>
  );
}
