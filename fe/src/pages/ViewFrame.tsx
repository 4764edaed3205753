/** The common part of all pages: requests the view, and shows progress or failure. */
import { useEffect, useMemo, type ReactNode } from "react";

import type { Query } from "../api/client";
import { refreshViewLists, useView, useViewBeforeFindings } from "../api/hooks";
import type { Resource } from "../api/resource";
import type { Runs, View, ViewInfo } from "../api/types";
import { visibleText } from "../lib/visibleText";
import { ProfileNames } from "../state/profile";
import { isSelected, selectionQuery, NO_PART } from "../state/selection";
import { traceQuery, type Target } from "../state/target";
import { navigate, useParams } from "../state/urlStore";
import type { TableSource } from "../table/useRows";
import { PAGE_ROWS } from "../table/useRows";
import { Skeleton } from "../ui/Skeleton";
import { FailureCard, NoDataCard, PendingCard } from "../ui/stateCards";
import { DefaultSplit } from "./iterationsBy/DefaultSplit";
import { IterationsByFailure } from "./iterationsBy/IterationsByFailure";
import { isIterationsByFailure } from "./iterationsBy/suggestedNames";
import { NextStep } from "./NextStep";
import { PageHead } from "./PageHead";
import { currentTab, pageOf, type PageTab } from "./pages";
import { SELECTION_IGNORED } from "./QualityNotes";
import { useReveal } from "./reveal";

export interface PageProps {
  readonly info: ViewInfo;
  readonly target: Target;
  readonly runs: Runs;
  /** All views of the trace, also those without data. */
  readonly views: readonly ViewInfo[];
}

export interface ViewContext {
  readonly info: ViewInfo;
  readonly target: Target;
  readonly view: View;
  /** The id of the shown tab, which decides what of the view is on screen. */
  readonly tab: string;
  /** The parameters of the request without those of rows, for more rows and for other views. */
  readonly query: Query;
  /** Where the rows of a table of this view come from. */
  readonly source: (table: string) => TableSource;
  /** File name of an export: view, run, worker, span and what is exported. */
  readonly fileName: (part: string) => string;
  /** Whether another view has data for this trace. */
  readonly hasView: (name: string) => boolean;
}

interface Props extends Omit<PageProps, "runs"> {
  /** The table that may be loaded partly: the first one by default, null for none. */
  readonly longTable?: string | null;
  /** How many of its rows are loaded at once. */
  readonly rows?: number;
  /** Whether the tables are shown before the findings; the same for the life of a page. */
  readonly beforeFindings?: boolean;
  /** Further parameters: a grouping, a baseline. */
  readonly extra?: Query;
  /** At the right of the head. */
  readonly head?: ReactNode | ((tab: PageTab | undefined) => ReactNode);
  /** Shown above every answer: a choice that may have caused a failure. */
  readonly above?: ReactNode;
  /** Shown when the server has no data for the view; a card with the reason by default. */
  readonly emptyCard?: ReactNode;
  readonly children: (context: ViewContext) => ReactNode;
}

export function ViewFrame({ info, target, views, longTable, rows = PAGE_ROWS, beforeFindings = false, extra, head, above, emptyCard, children }: Props) {
  const params = useParams();
  const trace = traceQuery(target);
  const query: Query = {
    ...(info.scope === "run" ? { ...trace, worker: null } : trace),
    ...selectionQuery(params),
    ...(info.group_bys.length > 0 ? { group_by: params["group_by"] } : {}),
    ...extra,
  };
  const useParts = beforeFindings ? useViewBeforeFindings : useView;
  const resource = useParts(info.name, longTable === null ? query : { ...query, table: longTable, limit: rows });
  const shown = resource.state === "ready" ? resource.data : resource.state === "loading" ? resource.last : null;
  useReveal(resource.state === "ready");
  const [run, worker, span] = [target.run.name, target.worker.name, target.span.name];
  const names = useMemo(() => [run, worker, span].filter((name) => name !== ""), [run, worker, span]);
  const opensRun = info.scope === "run" && resource.state === "ready";
  useEffect(() => {
    if (opensRun) refreshViewLists();
  }, [opensRun, run, span]);
  const tab = currentTab(pageOf(info), info.name, params, shown);
  const context = (view: View): ViewContext => ({
    tab: tab?.id ?? "",
    info,
    target,
    view,
    query,
    source: (table) => ({ view: info.name, table, query }),
    hasView: (name) => views.some((each) => each.name === name && each.available),
    fileName: (part) => [info.name, part, ...names].join("_"),
  });
  return (
    <div className="page">
      <PageHead info={info} views={views} view={shown} above={above}>
        {typeof head === "function" ? head(tab) : head}
      </PageHead>
      {shown !== null ? (
        <div className={`page${resource.state === "loading" ? " stale" : ""}`} aria-busy={resource.state === "loading"}>
          {shown.notes.filter(({ code }) => code === SELECTION_IGNORED).map(({ text }) => (
            <p key={text} role="note" className="soft">
              {visibleText(text)}
            </p>
          ))}
          <DefaultSplit notes={shown.notes} />
          <ProfileNames value={names}>
            {children(context(shown))}
            <NextStep view={shown} tab={tab?.id ?? ""} views={views} workers={target.run.workers.length} />
          </ProfileNames>
        </div>
      ) : (
        <Waiting resource={resource} info={info} target={target} emptyCard={emptyCard} />
      )}
    </div>
  );
}

/** Code of the failure when the trace has no data for the view. */
const VIEW_UNAVAILABLE = "view_unavailable";

/** Code of the failure for a step, phase or boundary that the trace does not have. */
const BAD_PARAMETER = "bad_parameter";

function ClearSelection() {
  if (!isSelected(useParams())) return null;
  return (
    <p className="choices">
      <button type="button" className="button" onClick={() => navigate(NO_PART)}>
        Show the whole trace
      </button>
    </p>
  );
}

interface WaitingProps extends Pick<Props, "info" | "target" | "emptyCard"> {
  readonly resource: Resource<View>;
}

function Waiting({ resource, info, target, emptyCard }: WaitingProps) {
  if (resource.state === "pending") return <PendingCard span={resource.span} run={target.run} />;
  if (resource.state === "failed") {
    if (resource.failure.code === VIEW_UNAVAILABLE) return emptyCard ?? <NoDataCard view={info} reason={resource.failure.message} />;
    if (isIterationsByFailure(resource.failure)) return <IterationsByFailure target={target} failure={resource.failure} />;
    // In a comparison either trace may have failed; the message names it.
    const file = info.scope === "pair" ? undefined : target.span.file;
    return (
      <>
        <FailureCard title="This view cannot be shown" file={file} failure={resource.failure} />
        {resource.failure.code === BAD_PARAMETER && <ClearSelection />}
      </>
    );
  }
  return <Skeleton>Computing this view …</Skeleton>;
}
