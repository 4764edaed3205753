/** From a row of another view to the slices of its name. */
import { goToView, useParams, viewHref } from "../state/urlStore";
import { findOnTimeline } from "./link";

export function ShowOnTimeline({ name }: { readonly name: string }) {
  const params = useParams();
  const extra = findOnTimeline(name);
  return (
    <a
      href={viewHref(params, "timeline", extra)}
      title="Find its slices on the timeline"
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        goToView("timeline", extra);
      }}
    >
      Show on timeline
    </a>
  );
}
