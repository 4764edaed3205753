/** The frame: bar, rail, and the page of the view that the address names. */
import { useMemo } from "react";

import { useAnswer, type Resource } from "../api/hooks";
import { useRuns } from "../api/runs";
import type { Runs, ViewInfo, Views } from "../api/types";
import { VIEWS } from "../generated/schema";
import { renderPage } from "../pages";
import { resolveTarget, traceQuery, type Target } from "../state/target";
import { useParams } from "../state/urlStore";
import { withTimeline } from "../timeline/info";
import { EmptyLogdir } from "./EmptyLogdir";
import { PageBoundary } from "./PageBoundary";
import { Rail } from "./Rail";
import { Silences } from "./Silences";
import { FailureCard, NothingCard, PendingCard } from "./SpanState";
import { TopBar } from "./TopBar";

const FIRST_VIEW = "overview";

export function App() {
  const params = useParams();
  const { runs, silences } = useRuns();
  const known = runs.state === "ready" ? runs.data : null;
  const target = useMemo(() => (known === null ? null : resolveTarget(known, params)), [known, params]);
  const failed = target?.span.state === "failed";
  const views = useViews(target);
  const list = useMemo(() => withTimeline(viewList(views), isKnown(views)), [views]);
  const name = params["view"] ?? FIRST_VIEW;
  const info = list.find((view) => view.name === name) ?? null;

  return (
    <div className="frame">
      <TopBar runs={known} target={target} view={info} views={list} />
      {target === null || failed ? <nav className="rail" aria-label="Views" /> : <Rail views={list} current={name} />}
      <main className="main">
        <Silences silences={silences} />
        <Content runs={runs} target={target} views={views} list={list} info={info} name={name} />
      </main>
    </div>
  );
}

function isKnown(views: Resource<Views>): boolean {
  return views.state === "ready" || (views.state === "loading" && views.last !== null);
}

/** While the trace is read the views are named already, but nothing is known of them. */
function viewList(views: Resource<Views>): readonly ViewInfo[] {
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

/** What a run has depends on all its workers. A file that only another one can mend is not asked about. */
function useViews(target: Target | null): Resource<Views> {
  const trace = target === null ? {} : traceQuery(target);
  const isHopeless = target === null || (target.span.state === "failed" && target.span.retry_s === null);
  return useAnswer<Views>(isHopeless ? null : "views", trace, { ...trace, worker: null });
}

interface ContentProps {
  readonly runs: Resource<Runs>;
  readonly target: Target | null;
  readonly views: Resource<Views>;
  readonly list: readonly ViewInfo[];
  readonly info: ViewInfo | null;
  readonly name: string;
}

function Content({ runs, target, views, list, info, name }: ContentProps) {
  if (runs.state === "failed") return <FailureCard title="Cannot list the runs" failure={runs.failure} />;
  if (runs.state !== "ready") return <p className="soft">Asking the server which runs there are …</p>;
  if (target === null) {
    return runs.data.discovering ? <p className="soft">Looking for traces …</p> : <EmptyLogdir runs={runs.data} />;
  }
  if (target.unknown !== null) {
    const failure = {
      code: "unknown",
      message: `There is no ${target.unknown} here.`,
      hint: "Choose another above. A trace that is still being written appears when it is complete.",
    };
    return <FailureCard title="This link leads to nothing" failure={failure} />;
  }
  const { span } = target;
  if (span.state === "failed" && span.error !== null && views.state !== "pending") {
    return <FailureCard title="This trace could not be read" file={span.file} failure={span.error} />;
  }
  if (views.state === "failed") return <FailureCard title="This trace could not be read" file={span.file} failure={views.failure} />;
  if (views.state === "pending") return <PendingCard span={views.span} run={target.run} />;
  if (views.state === "loading" && views.last === null) return <p className="soft">Opening the trace …</p>;
  if (info === null) {
    const failure = { code: "unknown", message: `There is no view “${name}”.`, hint: "Choose one on the left." };
    return <FailureCard title="This link leads to nothing" failure={failure} />;
  }
  if (!info.available) return <NothingCard view={info} reason={info.reason ?? "Nothing to show."} />;
  return <PageBoundary about={`${info.name} ${span.file} ${span.version}`}>{renderPage({ info, target, runs: runs.data, views: list })}</PageBoundary>;
}
