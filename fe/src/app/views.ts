/** The views of a trace as the frame lists them. */
import { useAnswer } from "../api/hooks";
import type { Resource } from "../api/resource";
import type { ViewInfo, Views } from "../api/types";
import { VIEWS } from "../generated/schema";
import { SQL_PAGE } from "../pages/pages";
import { traceQuery, type Target } from "../state/target";

/** The timeline has routes instead of tables; the server lists it only to say why a trace has none. */
const TIMELINE: ViewInfo = {
  name: "timeline",
  title: "Timeline",
  help: "Every event of the trace over time.",
  scope: "trace",
  available: true,
  reason: null,
  group_bys: [],
  missing_group_bys: {},
};

/** Queries have routes of their own; they can be made wherever a trace is open. */
const SQL: ViewInfo = {
  name: SQL_PAGE,
  title: "SQL",
  help: "How do I ask a question of my own?",
  scope: "trace",
  available: true,
  reason: null,
  group_bys: [],
  missing_group_bys: {},
};

/** Adds the page of queries at the end. */
function withSql(views: readonly ViewInfo[], ready: boolean): readonly ViewInfo[] {
  if (views.length === 0) return views;
  const reason = views.find(({ available }) => !available)?.reason ?? null;
  return [...views, ready ? SQL : { ...SQL, available: false, reason }];
}

/** Adds the timeline after the views of one trace, unless the server lists it. */
function withTimeline(views: readonly ViewInfo[], ready: boolean): readonly ViewInfo[] {
  if (views.length === 0 || views.some(({ name }) => name === TIMELINE.name)) return views;
  const reason = views.find(({ available }) => !available)?.reason ?? null;
  const info = ready ? TIMELINE : { ...TIMELINE, available: false, reason };
  const at = views.findIndex(({ scope }) => scope !== "trace");
  return at < 0 ? [...views, info] : [...views.slice(0, at), info, ...views.slice(at)];
}

/** The views of the run, which depend on all its workers. A permanently failed file is not requested. */
export function useViews(target: Target | null): Resource<Views> {
  const trace = target === null ? {} : traceQuery(target);
  const isHopeless = target === null || (target.span.state === "failed" && target.span.retry_s === null);
  return useAnswer<Views>(isHopeless ? null : "views", trace, { ...trace, worker: null });
}

/** All views, also those without data: while the trace is read no view has any. */
export function viewList(views: Resource<Views>): readonly ViewInfo[] {
  const ready = isKnown(views);
  return withSql(withTimeline(receivedViews(views), ready), ready);
}

/** The view to show where the address names none: what the trace is about. */
export function firstView(views: Resource<Views>): string {
  if (views.state === "ready") return views.data.first_view;
  return (views.state === "loading" ? views.last?.first_view : undefined) ?? "overview";
}

function isKnown(views: Resource<Views>): boolean {
  return views.state === "ready" || (views.state === "loading" && views.last !== null);
}

/** The views in the answer; until it arrives all views of the schema, unavailable. */
function receivedViews(views: Resource<Views>): readonly ViewInfo[] {
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
    missing_group_bys: {},
  }));
}
