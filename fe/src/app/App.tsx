/** The frame: bar, rail, and the page of the view that the address names. */
import { useEffect, useMemo, useState, type ReactNode } from "react";

import type { Resource } from "../api/resource";
import { useRuns, useRunsAfter } from "../api/runs";
import type { Runs, ViewInfo, Views } from "../api/types";
import { renderPage } from "../pages";
import { resolveTarget, type Target } from "../state/target";
import { adjust, useParams } from "../state/urlStore";
import { Outline, Skeleton } from "../ui/Skeleton";
import { FailureCard, NothingCard, PendingCard } from "../ui/stateCards";
import { EmptyLogdir } from "./EmptyLogdir";
import { GoneCard } from "./GoneCard";
import { PageBoundary } from "./PageBoundary";
import { Rail } from "./Rail";
import { Silences } from "./Silences";
import { TopBar } from "./TopBar";
import { useViews, viewList } from "./views";

const FIRST_VIEW = "overview";

export function App() {
  const params = useParams();
  const { runs, silences } = useRuns();
  const known = runs.state === "ready" ? runs.data : null;
  const target = useTarget(known);
  const isThere = target !== null && target.unknown === null;
  const hasViews = isThere && target.span.state !== "failed";
  const views = useViews(isThere ? target : null);
  useRunsAfter(views.state === "failed");
  useNaming(known, target, views);
  const [isChoosing, setChoosing] = useState(false);
  const list = useMemo(() => viewList(views), [views]);
  const name = params["view"] ?? FIRST_VIEW;
  const info = list.find((view) => view.name === name) ?? null;

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
        Skip to the page
      </a>
      <TopBar runs={known} target={target} view={info} views={list} isChoosing={isChoosing} onChoose={setChoosing} />
      {hasViews ? <Rail views={list} current={name} /> : <nav className="rail" aria-label="Views" />}
      <main className="main" id="content" tabIndex={-1}>
        <Silences silences={silences} />
        <Content runs={runs} target={target} views={views} list={list} info={info} name={name} onChoose={() => setChoosing(true)} />
      </main>
    </div>
  );
}

/** A run that nobody named stays the one that is shown, until it turns out to be broken. */
function useTarget(runs: Runs | null): Target | null {
  const params = useParams();
  const [kept, setKept] = useState<string | null>(null);
  const target = useMemo(() => (runs === null ? null : resolveTarget(runs, params, kept)), [runs, params, kept]);
  const shown = runs === null || runs.discovering ? null : (target?.run.name ?? null);
  if (shown !== null && shown !== kept) setKept(shown);
  return target;
}

/** A default that gave an answer goes into the address: the link then means the same when more runs have come. */
function useNaming(runs: Runs | null, target: Target | null, views: Resource<Views>): void {
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

/** Every page has a heading; a card that stands in its place gets one that is only heard. */
function Content(props: ContentProps) {
  const card = cardInstead(props);
  if (card !== null) {
    return (
      <div className="page">
        <h1 className="off-screen">PyTorch Profiler</h1>
        {card}
      </div>
    );
  }
  const { runs, target, list, info } = props;
  if (runs.state !== "ready" || target === null || info === null) return null;
  return (
    <PageBoundary about={`${info.name} ${target.span.file} ${target.span.version}`}>
      {renderPage({ info, target, runs: runs.data, views: list })}
    </PageBoundary>
  );
}

/** What is shown in place of the page, null where there is one. */
function cardInstead({ runs, target, views, info, name, onChoose }: ContentProps): ReactNode {
  if (runs.state === "failed") return <FailureCard title="Cannot list the runs" failure={runs.failure} />;
  if (runs.state !== "ready") return <Skeleton>Asking the server which runs there are …</Skeleton>;
  if (target === null) {
    return runs.data.discovering ? <Skeleton>Looking for traces …</Skeleton> : <EmptyLogdir runs={runs.data} />;
  }
  if (target.unknown !== null) return <GoneCard runs={runs.data} unknown={target.unknown} onChoose={onChoose} />;
  const { span } = target;
  if (span.state === "failed" && span.error !== null && views.state !== "pending") {
    return <FailureCard title="This trace could not be read" file={span.file} failure={span.error} />;
  }
  if (views.state === "failed") return <FailureCard title="This trace could not be read" file={span.file} failure={views.failure} />;
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
    return <FailureCard title="This link leads to nothing" failure={failure} />;
  }
  return info.available ? null : <NothingCard view={info} reason={info.reason ?? "Nothing to show."} />;
}
