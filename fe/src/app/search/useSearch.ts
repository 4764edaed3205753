/** Asks the server where a text is. */
import { useMemo } from "react";

import { useAnswer, useAnswers } from "../../api/hooks";
import type { View, ViewInfo } from "../../api/types";
import type { TimelineStepsAnswer, TimelineTracksAnswer } from "../../generated/schema";
import { formatFilter } from "../../lib/grammar";
import { iterationsByText } from "../../state/iterationsBy";
import { iterationsByQuery, selectionQuery } from "../../state/selection";
import { traceQuery, type Target } from "../../state/target";
import { useParams } from "../../state/urlStore";
import { CANDIDATES, pageHits, ranked, SEARCHED_TABLES, stepsHit, stepsTextOf, tableHits, timelineHit, trackHits, type Hit } from "./hits";

export interface SearchResult {
  /** Best first. */
  readonly hits: readonly Hit[];
  /** Whether answers are missing, one of which may have a better hit. */
  readonly isPending: boolean;
}

const NOTHING: SearchResult = { hits: [], isPending: false };

export function useSearch(text: string, target: Target, views: readonly ViewInfo[]): SearchResult {
  const params = useParams();
  const trace = traceQuery(target);
  const isActive = text !== "";
  const available = (name: string) => views.some((view) => view.available && view.name === name);
  const searched = SEARCHED_TABLES.filter(({ view, groupBy }) => {
    const info = views.find((each) => each.available && each.name === view);
    return info !== undefined && (groupBy === undefined || info.group_bys.includes(groupBy));
  });
  const filter = formatFilter([{ key: "name", operator: "~", value: text }]);
  const requests = searched.map(({ view, table, groupBy, sort }) => ({
    route: `view/${view}`,
    query: { ...trace, ...selectionQuery(params), table, filter, limit: CANDIDATES, ...(groupBy === undefined ? {} : { group_by: groupBy }), ...(sort === undefined ? {} : { sort }) },
  }));
  const answers = useAnswers<View>(isActive ? requests : [], { ...trace, worker: null });
  const hasTimeline = available("timeline");
  const tracks = useAnswer<TimelineTracksAnswer>(isActive && hasTimeline ? "timeline/tracks" : null, trace);
  const stepsText = isActive ? stepsTextOf(text) : null;
  const steps = useAnswer<TimelineStepsAnswer>(stepsText === null ? null : "timeline/steps", { ...trace, ...iterationsByQuery(params), steps: stepsText });
  const noun = iterationsByText(params["iterations_by"]) === null ? "step" : "iteration";

  return useMemo(() => {
    if (!isActive) return NOTHING;
    const rows = answers.flatMap((answer, index) => {
      const each = searched[index];
      const table = answer.state === "ready" && each !== undefined ? answer.data.tables[each.table] : undefined;
      return each === undefined || table === undefined ? [] : tableHits(each, table, text);
    });
    const chosen = stepsText !== null && steps.state === "ready" && steps.data.steps !== null ? [stepsHit(text, steps.data.steps, noun)] : [];
    const named = tracks.state === "ready" ? trackHits(tracks.data.tracks.map(({ title }) => title), text) : [];
    const last = hasTimeline ? [timelineHit(text)] : [];
    const waits = [...answers, ...(stepsText === null ? [] : [steps])];
    return { hits: ranked([...chosen, ...rows, ...pageHits(views, text), ...named, ...last]), isPending: waits.some(({ state }) => state === "loading" || state === "pending") };
    // eslint-disable-next-line react-hooks/exhaustive-deps -- `searched` follows from `views`
  }, [isActive, text, answers, steps, stepsText, tracks, views, hasTimeline, noun]);
}
