/** The timeline among the views: it has routes of its own instead of tables, so the server does not list it. */
import type { ViewInfo } from "../api/types";

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
export function withTimeline(views: readonly ViewInfo[], ready: boolean): readonly ViewInfo[] {
  if (views.length === 0 || views.some(({ name }) => name === TIMELINE.name)) return views;
  const reason = views.find(({ available }) => !available)?.reason ?? null;
  const info = ready ? TIMELINE : { ...TIMELINE, available: false, reason };
  const at = views.findIndex(({ scope }) => scope !== "trace");
  return at < 0 ? [...views, info] : [...views.slice(0, at), info, ...views.slice(at)];
}
