/** The editor, the tables beside it, and below them the answer. */
import { useEffect, useMemo, useRef, useState } from "react";

import { apiUrl, type Query } from "../../api/client";
import { repeatAnswer, useTimedAnswer, type Timed } from "../../api/hooks";
import type { Resource } from "../../api/resource";
import type { Failure, View } from "../../api/types";
import type { SqlTablesAnswer } from "../../generated/schema";
import { formatNumber } from "../../lib/format";
import { visibleText } from "../../lib/visibleText";
import type { Params } from "../../state/address";
import { selectionQuery } from "../../state/selection";
import { traceQuery, type Target } from "../../state/target";
import { navigate, useParams } from "../../state/urlStore";
import { Popover } from "../../ui/Popover";
import { Segmented } from "../../ui/Segmented";
import { PendingCard } from "../../ui/stateCards";
import { useIsNarrow } from "../../ui/useIsNarrow";
import { Answer } from "./Answer";
import { Editor } from "./Editor";
import { replaceText } from "./editing";
import { errorRange, hasPosition, positionText } from "./errorPosition";
import { ExampleCards, ExampleMenu } from "./Examples";
import { rememberQuery } from "./history";
import { HistoryMenu } from "./HistoryMenu";
import { tableNames } from "./relations";
import { addressLength, ALL_WORKERS, fitsAddress, MAX_ADDRESS_CHARACTERS, MAX_ROWS_KEY, QUERY_KEY, queryPatch, WORKERS_KEY } from "./sqlAddress";
import { TablesPanel } from "./TablesPanel";
import "./sql.css";

interface Props {
  readonly target: Target;
  readonly listing: SqlTablesAnswer;
}

const ROUTE = "sql";
/** Rows that the server gives at most (`MAX_SERVED_ROWS`). */
const MAX_ROWS = 100_000;
/** A request line of more is refused by servers. */
const MAX_URL_CHARACTERS = 60_000;
/** What stands in the editor, for the way back from another page. */
let unsentDraft = "";

const ERROR_ID = "sql-error";

export function SqlBody({ target, listing }: Props) {
  const params = useParams();
  const isNarrow = useIsNarrow();
  const area = useRef<HTMLTextAreaElement>(null);
  const addressed = params[QUERY_KEY] ?? null;
  // The query that ran without fitting into the address; lost with the page.
  const [longQuery, setLongQuery] = useState<string | null>(null);
  const [draft, setDraft] = useState(addressed ?? unsentDraft);
  const [previous, setPrevious] = useState(addressed);
  const [isStopped, setStopped] = useState(false);
  if (previous !== addressed) {
    // By Back, or by a link.
    setPrevious(addressed);
    if (addressed !== null) {
      setDraft(addressed);
      setLongQuery(null);
    }
    setStopped(false);
  }
  const query = addressed ?? longQuery;
  useEffect(() => {
    unsentDraft = draft;
  }, [draft]);
  const names = useMemo(() => tableNames(listing.tables), [listing]);

  const request = query === null ? null : sqlRequest(target, params, query);
  const refusal = request === null || query === null ? null : refusalOf(query, request, listing.max_text);
  const isSent = request !== null && refusal === null && !isStopped;
  const resource = useTimedAnswer<View>(isSent ? ROUTE : null, isSent ? request : {});
  const isRunning = isSent && (resource.state === "loading" || resource.state === "pending");
  const failure = refusal ?? (isSent && resource.state === "failed" ? resource.failure : null);
  // What the message is about, while it stands there.
  const error = failure !== null && query !== null && draft === query ? errorRange(query, failure) : null;

  const run = (text: string) => {
    if (text.trim() === "") return;
    rememberQuery(text);
    setDraft(text);
    setStopped(false);
    if (text === query && request !== null) repeatAnswer(ROUTE, request);
    setLongQuery(fitsAddress(text) ? null : text);
    navigate(queryPatch(params, text));
  };
  const insert = (text: string) => {
    const field = area.current;
    if (field !== null) replaceText(field, field.selectionStart, field.selectionEnd, text);
  };
  const tables = <TablesPanel tables={listing.tables} onInsert={insert} onShow={run} />;

  return (
    <>
      <div className="sql-layout">
        <section className="card sql-card" aria-label="Query">
          <header className="no-print">
            {isRunning ? (
              <button type="button" className="button sql-run" onClick={() => setStopped(true)}>
                Cancel
              </button>
            ) : (
              <button type="button" className="button sql-run" disabled={draft.trim() === ""} title="Run the query (Ctrl+Enter)" onClick={() => run(draft)}>
                Run
              </button>
            )}
            <WorkersSwitch target={target} />
            <span style={{ flex: 1 }} />
            <Popover label="Examples ▾" title="Queries to start from">
              {(close) => (
                <ExampleMenu
                  examples={listing.examples}
                  onRun={(text) => {
                    close();
                    run(text);
                  }}
                />
              )}
            </Popover>
            <Popover label="History ▾" title="The queries that ran in this browser">
              {(close) => (
                <HistoryMenu
                  onRun={(text) => {
                    close();
                    run(text);
                  }}
                />
              )}
            </Popover>
          </header>
          <Editor text={draft} names={names} error={error} maxPainted={listing.max_text} errorId={failure === null ? null : ERROR_ID} area={area} onChange={setDraft} onRun={() => run(draft)} />
          {failure !== null && query !== null && <QueryError failure={failure} position={error === null || hasPosition(failure) ? null : positionText(query, error)} />}
          {longQuery !== null && draft === longQuery && refusal === null && (
            <p className="sql-note soft" role="note">
              This query is too long for a link: in an address it takes {formatNumber(addressLength(longQuery))} characters, {formatNumber(MAX_ADDRESS_CHARACTERS)} are possible. Send its text instead.
            </p>
          )}
        </section>
        {isNarrow ? (
          <details className="fold">
            <summary>
              <b>Tables</b> <span className="soft">{formatNumber(listing.tables.length)} with their columns</span>
            </summary>
            {tables}
          </details>
        ) : (
          tables
        )}
      </div>
      {query === null ? <ExampleCards examples={listing.examples} onRun={run} /> : <Outcome resource={resource} isRunning={isRunning} isStopped={isStopped} target={target} timeLimitS={listing.time_limit_s} />}
    </>
  );
}

function sqlRequest(target: Target, params: Params, query: string): Query {
  const trace = traceQuery(target);
  const worker = params[WORKERS_KEY] === ALL_WORKERS ? null : (trace["worker"] ?? null);
  return { ...trace, worker, ...selectionQuery(params), query, [MAX_ROWS_KEY]: params[MAX_ROWS_KEY] };
}

/** Why a query is not sent at all. */
function refusalOf(query: string, request: Query, maxCharacters: number): Failure | null {
  const hint = "Replace lists of values by a join or a condition.";
  const count = Array.from(query).length;
  if (count > maxCharacters) return { code: "sql_text", message: `The query has ${formatNumber(count)} characters; ${formatNumber(maxCharacters)} are possible.`, hint };
  const length = apiUrl(ROUTE, request).length;
  if (length > MAX_URL_CHARACTERS) return { code: "sql_text", message: `The query takes ${formatNumber(length)} characters in a request; ${formatNumber(MAX_URL_CHARACTERS)} are possible.`, hint };
  return null;
}

/** Over this worker, or over all of the run. */
function WorkersSwitch({ target: { run, worker, span } }: { readonly target: Target }) {
  const params = useParams();
  const count = run.workers.filter(({ spans }) => spans.some(({ name }) => name === span.name)).length;
  if (count < 2) return null;
  const titles: Readonly<Record<string, string>> = { one: visibleText(worker.name), [ALL_WORKERS]: `All ${formatNumber(count)} workers` };
  return <Segmented label="Workers" values={["one", ALL_WORKERS]} value={params[WORKERS_KEY] === ALL_WORKERS ? ALL_WORKERS : "one"} onPick={(value) => navigate({ [WORKERS_KEY]: value === ALL_WORKERS ? ALL_WORKERS : null })} title={(value) => titles[value] ?? value} />;
}

function QueryError({ failure: { message, hint }, position }: { readonly failure: Failure; readonly position: string | null }) {
  return (
    <div className="sql-error" id={ERROR_ID} role="alert">
      <p>{visibleText(message)}</p>
      {hint !== null && hint !== "" && <p>{visibleText(hint)}</p>}
      {position !== null && <p className="soft">In {position}.</p>}
    </div>
  );
}

interface OutcomeProps {
  readonly resource: Resource<Timed<View>>;
  readonly isRunning: boolean;
  readonly isStopped: boolean;
  readonly target: Target;
  readonly timeLimitS: number;
}

function Outcome({ resource, isRunning, isStopped, target, timeLimitS }: OutcomeProps) {
  if (isStopped) {
    return (
      <p className="soft" role="status">
        Canceled. Nothing of the query is running any more.
      </p>
    );
  }
  if (resource.state === "pending") return <PendingCard span={resource.span} run={target.run} />;
  const shown = resource.state === "ready" ? resource.data : resource.state === "loading" ? resource.last : null;
  const { run, worker, span } = target;
  const fileName = ["sql", ...[run.name, worker.name, span.name].filter((name) => name !== "")].join("_");
  return (
    <>
      {isRunning && (
        <p className="soft" role="status">
          Running … Tables of views are computed first; the query itself has {formatNumber(timeLimitS)} s.
        </p>
      )}
      {shown !== null && (
        <div className={`page${isRunning ? " stale" : ""}`} aria-busy={isRunning}>
          <Answer answer={shown} fileName={fileName} maxRows={MAX_ROWS} />
        </div>
      )}
    </>
  );
}
