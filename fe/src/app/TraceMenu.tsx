/** Downloads: the trace file, or the selection for other viewers. */
import { useState, type ReactNode } from "react";

import { ApiError, apiUrl, fetchJson } from "../api/client";
import { fetchUncached } from "../api/queryClient";
import { saveUrl } from "../lib/download";
import { selectionQuery } from "../state/selection";
import { traceQuery, type Target } from "../state/target";
import { useParams } from "../state/urlStore";
import { Popover } from "../ui/Popover";
import { selectionText } from "./SelectionControl";

const PERFETTO = "https://ui.perfetto.dev";

export function TraceMenu({ target }: { readonly target: Target }) {
  const params = useParams();
  const trace = traceQuery(target);
  const selection = selectionText(params);
  return (
    <Popover label="Trace ▾" title="Download the trace, or the selection for Perfetto">
      {(close) => (
        <div className="menu">
          <a className="button" href={apiUrl("download", trace)} download onClick={close}>
            Download the trace file
          </a>
          <SaveForPerfetto url={apiUrl("perfetto", { ...trace, ...selectionQuery(params) })} whenOpen={apiUrl("views", trace)} onDone={close}>
            Save {selection === null ? "the whole trace" : lowerFirst(selection)} for Perfetto
          </SaveForPerfetto>
          <a className="button" href={PERFETTO} target="_blank" rel="noreferrer">
            Open ui.perfetto.dev ↗
          </a>
          <small className="soft">
            Save the file, then drag it onto Perfetto’s page (chrome://tracing reads it too). It holds
            {selection === null ? " the whole trace" : " the selection only"}, with counters of GPU utilization and estimated efficiency. Nothing is sent anywhere; Perfetto reads it in your browser.
          </small>
        </div>
      )}
    </Popover>
  );
}

interface SaveProps {
  readonly url: string;
  /** A route that answers once the trace is open. */
  readonly whenOpen: string;
  readonly onDone: () => void;
  readonly children: ReactNode;
}

/** Waits until the trace is read: before that the saved file would hold an error message. */
function SaveForPerfetto({ url, whenOpen, onDone, children }: SaveProps) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const save = async () => {
    setBusy(true);
    try {
      await fetchUncached(whenOpen, fetchJson);
      saveUrl("trace.json", url);
      onDone();
    } catch (error) {
      setProblem(error instanceof ApiError ? error.message : String(error));
      setBusy(false);
    }
  };
  return (
    <>
      <button type="button" className="button" disabled={busy} onClick={() => void save()}>
        {children}
        {busy && " …"}
      </button>
      {problem !== null && <p role="alert">{problem}</p>}
    </>
  );
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
