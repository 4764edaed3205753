/** The frame: top bar, rail, and the page of the view named in the address. */
import { useEffect, useMemo, useState, type ReactNode } from "react";

import type { Resource } from "../api/resource";
import { useRuns, useRefetchRuns } from "../api/runs";
import type { Runs, ViewInfo, Views } from "../api/types";
import { renderPage } from "../pages";
import { PageHead } from "../pages/PageHead";
import { pageOf } from "../pages/pages";
import { resolveTarget, type Target } from "../state/target";
import { adjust, useParams } from "../state/urlStore";
import { useIsNarrow } from "../ui/useIsNarrow";
import { Outline, Skeleton } from "../ui/Skeleton";
import { FailureCard, NoDataCard, PendingCard } from "../ui/stateCards";
import { Elsewhere } from "./Elsewhere";
import { EmptyLogdir } from "./EmptyLogdir";
import { MissingTraceCard } from "./MissingTraceCard";
import { Outages } from "./Outages";
import { PageBoundary } from "./PageBoundary";
import { Rail } from "./Rail";
import { RailDrawer } from "./RailDrawer";
import { UnreadTrace } from "./UnreadTrace";
import { TopBar } from "./TopBar";
import { firstView, useViews, viewList } from "./views";

export function App() {
  const params = useParams();
  const { runs, outages: silences } = useRuns();
  const knownRuns = runs.state === "ready" ? runs.data : null;
  const target = useTarget(knownRuns);
  const hasTrace = target !== null && target.unknown === null;
  const hasViews = hasTrace && target.span.state !== "failed";
  const views = useViews(hasTrace ? target : null);
  useRefetchRuns(views.state === "failed");
  useRunInAddress(knownRuns, target, views);
  const [isChoosing, setChoosing] = useState(false);
  const list = useMemo(() => viewList(views), [views]);
  const name = params["view"] ?? firstView(views);
  const info = list.find((view) => view.name === name) ?? null;
  const isNarrow = useIsNarrow();
  const rail = hasViews ? <Rail views={list} current={name} first={firstView(views)} /> : <nav className="rail" aria-label="Pages" />;

  return (
    <div className="frame">
      <a
        className="button skip"
        href="#content"
        onClick={(event) => {
          // The fragment is the state of the page.
          event.preventDefault();
          document.getElementById("content")?.focus();
        }}
      >
        Skip to content
      </a>
      <TopBar runs={knownRuns} target={target} view={info} views={list} isChoosing={isChoosing} onChoose={setChoosing}>
        {isNarrow && hasViews && <RailDrawer title={info === null ? "Pages" : pageOf(info).title}>{rail}</RailDrawer>}
      </TopBar>
      {!isNarrow && rail}
      <main className="main" id="content" tabIndex={-1}>
        <Outages outages={silences} />
        <Content runs={runs} target={target} views={views} list={list} info={info} name={name} onChoose={() => setChoosing(true)} />
      </main>
    </div>
  );
}

/** The target of the address. A run shown without being named stays the current one, unless it is broken. */
function useTarget(runs: Runs | null): Target | null {
  const params = useParams();
  const [currentRun, setCurrentRun] = useState<string | null>(null);
  const target = useMemo(() => (runs === null ? null : resolveTarget(runs, params, currentRun)), [runs, params, currentRun]);
  const shown = runs === null || runs.discovering ? null : (target?.run.name ?? null);
  if (shown !== null && shown !== currentRun) setCurrentRun(shown);
  return target;
}

/** Writes the default run into the address once it has answered: the link stays valid when more runs appear. */
function useRunInAddress(runs: Runs | null, target: Target | null, views: Resource<Views>): void {
  const { run } = useParams();
  const isOne = runs === null || runs.discovering || runs.runs.length < 2;
  const name = run !== undefined || isOne || views.state !== "ready" ? null : (target?.run.name ?? null);
  useEffect(() => {
    if (name !== null) adjust({ run: name });
  }, [name]);
}

interface ContentProps {
  readonly runs: Resource<Runs>;
  readonly target: Target | null;
  readonly views: Resource<Views>;
  readonly list: readonly ViewInfo[];
  readonly info: ViewInfo | null;
  readonly name: string;
  readonly onChoose: () => void;
}

/** Every page has a heading; a placeholder card gets one for screen readers only. */
function Content(props: ContentProps) {
  const { runs, target, views, list, info } = props;
  const card = placeholderCard(props);
  if (card !== null) {
    // A view without data has a page, whose other tabs may have some.
    const hasPage = info !== null && views.state === "ready";
    return (
      <div className="page">
        {hasPage ? <PageHead info={info} views={list} /> : <h1 className="off-screen">PyTorch Profiler</h1>}
        {card}
      </div>
    );
  }
  if (runs.state !== "ready" || target === null || info === null) return null;
  return (
    <PageBoundary about={`${info.name} ${target.span.file} ${target.span.version}`}>
      {renderPage({ info, target, runs: runs.data, views: list })}
    </PageBoundary>
  );
}

/** The card shown instead of the page; null when there is a page. */
function placeholderCard({ runs, target, views, list, info, name, onChoose }: ContentProps): ReactNode {
  if (runs.state === "failed") return <FailureCard title="Cannot list the runs" failure={runs.failure} />;
  if (runs.state !== "ready") return <Skeleton alone>Loading the list of runs …</Skeleton>;
  if (target === null) {
    return runs.data.discovering ? <Skeleton alone>Looking for traces …</Skeleton> : <EmptyLogdir runs={runs.data} />;
  }
  if (target.unknown !== null) return <MissingTraceCard runs={runs.data} unknown={target.unknown} onChoose={onChoose} />;
  const { span } = target;
  if (span.state === "failed" && span.error !== null && views.state !== "pending") {
    return <UnreadTrace target={target} failure={span.error} />;
  }
  if (views.state === "failed") return <UnreadTrace target={target} failure={views.failure} />;
  if (views.state === "pending") {
    return (
      <>
        <PendingCard span={views.span} run={target.run} />
        <Outline />
      </>
    );
  }
  if (views.state === "loading" && views.last === null) {
    return (
      <Skeleton>
        <PendingCard span={span} run={target.run} />
      </Skeleton>
    );
  }
  if (info === null) {
    const failure = { code: "unknown", message: `There is no view “${name}”.`, hint: "Choose one on the left." };
    return <FailureCard title="Unknown view" failure={failure} />;
  }
  return info.available ? null : <NoDataCard view={info} reason={info.reason ?? "Nothing to show."} elsewhere={<Elsewhere name={info.name} views={list} />} />;
}
