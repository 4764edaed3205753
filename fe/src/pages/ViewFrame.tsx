/** What every page does alike: asks for its view, and shows how far or why not. */
import type { ReactNode } from "react";

import type { Query } from "../api/client";
import { useView } from "../api/hooks";
import type { Resource } from "../api/resource";
import type { Runs, View, ViewInfo } from "../api/types";
import { visibleText } from "../lib/visibleText";
import { isSelected, selectionQuery, WHOLE } from "../state/selection";
import { traceQuery, type Target } from "../state/target";
import { navigate, useParams } from "../state/urlStore";
import type { TableSource } from "../table/useRows";
import { PAGE_ROWS } from "../table/useRows";
import { Skeleton } from "../ui/Skeleton";
import { FailureCard, NothingCard, PendingCard } from "../ui/stateCards";
import { IterationsByFailure } from "./iterationsBy/IterationsByFailure";
import { isOfCut } from "./iterationsBy/suggestedNames";
import { NOT_NARROWED } from "./QualityNotes";
import { useReveal } from "./reveal";

export interface PageProps {
  readonly info: ViewInfo;
  readonly target: Target;
  readonly runs: Runs;
  /** All views of the trace, with those that have nothing to show. */
  readonly views: readonly ViewInfo[];
}

export interface ViewContext {
  readonly info: ViewInfo;
  readonly target: Target;
  readonly view: View;
  /** What was asked, without the rows: for tables that ask for more, and for other views. */
  readonly query: Query;
  /** Where the rows of a table of this view come from. */
  readonly source: (table: string) => TableSource;
  /** File name of an export: view, run, worker, span and what is exported. */
  readonly fileName: (part: string) => string;
  /** Whether another view has something to show for this trace. */
  readonly hasView: (name: string) => boolean;
}

interface Props extends Omit<PageProps, "runs"> {
  /** The table that can be too long to come whole; the first one when nothing is said, null where all have to. */
  readonly longTable?: string | null;
  /** How many of its rows come at once. */
  readonly rows?: number;
  /** Further parameters: a grouping, a baseline. */
  readonly extra?: Query;
  readonly head?: ReactNode;
  /** What stays there whatever the answer is: a choice that may have caused it. */
  readonly above?: ReactNode;
  /** What is shown where the server has nothing for the view; a card that says so when nothing is given. */
  readonly nothing?: ReactNode;
  readonly children: (context: ViewContext) => ReactNode;
}

export function ViewFrame({ info, target, views, longTable, rows = PAGE_ROWS, extra, head, above, nothing, children }: Props) {
  const params = useParams();
  const trace = traceQuery(target);
  const query: Query = {
    ...(info.scope === "run" ? { ...trace, worker: null } : trace),
    ...selectionQuery(params),
    ...(info.group_bys.length > 0 ? { group_by: params["group_by"] } : {}),
    ...extra,
  };
  const resource = useView(info.name, longTable === null ? query : { ...query, table: longTable, limit: rows });
  const shown = resource.state === "ready" ? resource.data : resource.state === "loading" ? resource.last : null;
  useReveal(resource.state === "ready");
  const context = (view: View): ViewContext => ({
    info,
    target,
    view,
    query,
    source: (table) => ({ view: info.name, table, query }),
    hasView: (name) => views.some((each) => each.name === name && each.available),
    fileName: (part) => [info.name, part, target.run.name, target.worker.name, target.span.name].filter((name) => name !== "").join("_"),
  });
  return (
    <div className="page">
      <PageHead info={info}>{head}</PageHead>
      {above}
      {shown !== null ? (
        <div className={`page${resource.state === "loading" ? " stale" : ""}`} aria-busy={resource.state === "loading"}>
          {shown.notes.filter(({ code }) => code === NOT_NARROWED).map(({ text }) => (
            <p key={text} role="note" className="soft">
              {visibleText(text)}
            </p>
          ))}
          {children(context(shown))}
        </div>
      ) : (
        <Waiting resource={resource} info={info} target={target} nothing={nothing} />
      )}
    </div>
  );
}

export function PageHead({ info, children }: { readonly info: ViewInfo; readonly children?: ReactNode }) {
  return (
    <div className="page-head">
      <h1>{info.title}</h1>
      <span className="soft">{info.help}</span>
      <span style={{ flex: 1 }} />
      {children}
    </div>
  );
}

/** The trace is fine, but holds nothing for the view. */
const NOTHING_THERE = "view_unavailable";

/** A step, phase or border that the trace does not have. */
const BAD_PARAMETER = "bad_parameter";

function WayBack() {
  if (!isSelected(useParams())) return null;
  return (
    <p className="choices">
      <button type="button" className="button" onClick={() => navigate(WHOLE)}>
        Look at the whole trace
      </button>
    </p>
  );
}

interface WaitingProps extends Pick<Props, "info" | "target" | "nothing"> {
  readonly resource: Resource<View>;
}

function Waiting({ resource, info, target, nothing }: WaitingProps) {
  if (resource.state === "pending") return <PendingCard span={resource.span} run={target.run} />;
  if (resource.state === "failed") {
    if (resource.failure.code === NOTHING_THERE) return nothing ?? <NothingCard view={info} reason={resource.failure.message} />;
    if (isOfCut(resource.failure)) return <IterationsByFailure target={target} failure={resource.failure} />;
    // Of two traces either may be meant; the message says which.
    const file = info.scope === "pair" ? undefined : target.span.file;
    return (
      <>
        <FailureCard title="This view cannot be shown" file={file} failure={resource.failure} />
        {resource.failure.code === BAD_PARAMETER && <WayBack />}
      </>
    );
  }
  return <Skeleton>Computing this view …</Skeleton>;
}
