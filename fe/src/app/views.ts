/** The views of a trace as the frame lists them. */
import { useAnswer } from "../api/hooks";
import type { Resource } from "../api/resource";
import type { ViewInfo, Views } from "../api/types";
import { VIEWS } from "../generated/schema";
import { traceQuery, type Target } from "../state/target";

/** It has routes of its own instead of tables, so the server does not list it. */
const TIMELINE: ViewInfo = {
  name: "timeline",
  title: "Timeline",
  help: "Every event of the trace over time.",
  scope: "trace",
  available: true,
  reason: null,
  group_bys: [],
};

/** The views with the timeline after those of one trace; as they are where the server knows it. */
function withTimeline(views: readonly ViewInfo[], ready: boolean): readonly ViewInfo[] {
  if (views.length === 0 || views.some(({ name }) => name === TIMELINE.name)) return views;
  const reason = views.find(({ available }) => !available)?.reason ?? null;
  const info = ready ? TIMELINE : { ...TIMELINE, available: false, reason };
  const at = views.findIndex(({ scope }) => scope !== "trace");
  return at < 0 ? [...views, info] : [...views.slice(0, at), info, ...views.slice(at)];
}

/** What a run has depends on all its workers. A file that only another one can mend is not asked about. */
export function useViews(target: Target | null): Resource<Views> {
  const trace = target === null ? {} : traceQuery(target);
  const isHopeless = target === null || (target.span.state === "failed" && target.span.retry_s === null);
  return useAnswer<Views>(isHopeless ? null : "views", trace, { ...trace, worker: null });
}

/** All views, also those that have nothing to show: while the trace is read none has. */
export function viewList(views: Resource<Views>): readonly ViewInfo[] {
  return withTimeline(answeredViews(views), isKnown(views));
}

function isKnown(views: Resource<Views>): boolean {
  return views.state === "ready" || (views.state === "loading" && views.last !== null);
}

/** While the trace is read the views are named already, but nothing is known of them. */
function answeredViews(views: Resource<Views>): readonly ViewInfo[] {
  if (views.state === "ready") return views.data.views;
  if (views.state === "loading" && views.last !== null) return views.last.views;
  const reason = views.state === "failed" ? views.failure.message : "The trace is still being read.";
  return Object.entries(VIEWS).map(([name, view]) => ({
    name,
    title: view.title,
    help: "",
    scope: view.scope,
    available: false,
    reason,
    group_bys: [],
  }));
}
