/** Which pages show what the files of a recording hold, where the page that was asked for has nothing to show. */
import type { ViewInfo } from "../api/types";
import { SQL_PAGE } from "../pages/pages";

/** Recordings without operators may have files that sum them by type. */
const INSTEAD: Readonly<Record<string, readonly string[]>> = { operators: ["operator_types"] };

/** A recording without an overview may have files of data loading alone: then every page is named. */
const OVERVIEW = "overview";

/** It is there for every trace, and empty without events. */
const TIMELINE = "timeline";

export function pagesInstead(name: string, views: readonly ViewInfo[]): ViewInfo[] {
  const hasData = views.filter((view) => view.available && view.scope !== "pair" && view.name !== TIMELINE && view.name !== SQL_PAGE);
  return hasData.filter((view) => name === OVERVIEW || INSTEAD[name]?.includes(view.name) === true);
}
