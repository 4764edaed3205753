/** The report to hand on: which views are in it, saved as one HTML file; and the link to this page. */
import { useState } from "react";

import { ApiError, apiUrl, fetchBytes, type Query } from "../api/client";
import { fetchUncached } from "../api/queryClient";
import type { ViewInfo } from "../api/types";
import { saveFile } from "../lib/download";
import { SQL_PAGE } from "../pages/pages";
import type { Params } from "../state/address";
import { selectionQuery } from "../state/selection";
import { traceQuery, type Target } from "../state/target";
import { pageAddress, useParams } from "../state/urlStore";
import { CopyButton } from "../ui/CopyButton";
import { Popover } from "../ui/Popover";

/** What a report has where nobody chose; the overview is always its beginning. */
const DEFAULT_VIEWS: ReadonlySet<string> = new Set(["operators", "kernels", "idle", "memory", "distributed"]);
const FIRST_VIEW = "overview";
const COMPARISON = "compare";
/** The stretch of the first finding is in every report. */
const TIMELINE = "timeline";

interface Props {
  readonly target: Target;
  readonly view: ViewInfo | null;
  readonly views: readonly ViewInfo[];
}

export function ReportMenu({ target, view, views }: Props) {
  const params = useParams();
  const isComparison = view?.name === COMPARISON && params["baseline_run"] !== undefined;
  return (
    <Popover label="Report ▾" title="Save a report to hand on, or copy the link to this page">
      {(close) => (
        <div className="menu">
          {isComparison ? (
            <SaveReport query={{ ...reportQuery(target, params), ...baselineQuery(params) }} subject="this comparison" onDone={close} />
          ) : (
            <ChosenViews target={target} params={params} views={views} onDone={close} />
          )}
          <small className="soft">One HTML file that opens without a server: verdict, findings, charts, tables, and how each number is counted.</small>
          <CopyButton className="button" label="Copy the link to this page" text={pageAddress()} />
        </div>
      )}
    </Popover>
  );
}

interface ChosenProps {
  readonly target: Target;
  readonly params: Params;
  readonly views: readonly ViewInfo[];
  readonly onDone: () => void;
}

function ChosenViews({ target, params, views, onDone }: ChosenProps) {
  const [changed, setChanged] = useState<Readonly<Record<string, boolean>>>({});
  const choices = views.filter(({ name, available, scope }) => available && scope !== "pair" && name !== FIRST_VIEW && name !== TIMELINE && name !== SQL_PAGE);
  const isChosen = (name: string) => changed[name] ?? DEFAULT_VIEWS.has(name);
  const names = [FIRST_VIEW, ...choices.filter(({ name }) => isChosen(name)).map(({ name }) => name)];
  return (
    <>
      <fieldset className="report-views">
        <legend>Overview, and</legend>
        {choices.map(({ name, title }) => (
          <label key={name}>
            <input type="checkbox" checked={isChosen(name)} onChange={(event) => setChanged({ ...changed, [name]: event.target.checked })} /> {title}
          </label>
        ))}
      </fieldset>
      <SaveReport query={{ ...reportQuery(target, params), views: names.join(",") }} subject="report" onDone={onDone} />
    </>
  );
}

interface SaveProps {
  readonly query: Query;
  readonly subject: string;
  readonly onDone: () => void;
}

function SaveReport({ query, subject, onDone }: SaveProps) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const save = async () => {
    setBusy(true);
    setProblem(null);
    try {
      const page = await fetchUncached(apiUrl("report.html", query), fetchBytes);
      saveFile(`${["report", query["run"], query["worker"], query["span"]].join("_")}.html`, "text/html;charset=utf-8", page);
      onDone();
    } catch (error) {
      setProblem(error instanceof ApiError ? error.message : String(error));
      setBusy(false);
    }
  };
  return (
    <>
      <button type="button" className="button report-save" disabled={busy} onClick={() => void save()}>
        Save {subject}
        {busy && " …"}
      </button>
      {problem !== null && <p role="alert">{problem}</p>}
    </>
  );
}

function reportQuery(target: Target, params: Params): Query {
  return { ...traceQuery(target), ...selectionQuery(params), notes: params["notes"], address: pageAddress() };
}

function baselineQuery(params: Params): Query {
  return Object.fromEntries(Object.entries(params).filter(([key]) => /^(baseline|third)_/.test(key)));
}
