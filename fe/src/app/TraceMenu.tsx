/** The trace itself: as it is, or the selection for other viewers. */
import { useState, type ReactNode } from "react";

import { askFor } from "../api/answers";
import { ApiError, apiUrl, fetchJson } from "../api/client";
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
          <SaveCut url={apiUrl("perfetto", { ...trace, ...selectionQuery(params) })} whenOpen={apiUrl("views", trace)} onDone={close}>
            Save {selection === null ? "the whole trace" : lowerFirst(selection)} for Perfetto
          </SaveCut>
          <a className="button" href={PERFETTO} target="_blank" rel="noreferrer">
            Open ui.perfetto.dev ↗
          </a>
          <small className="soft">
            Save the file, then drag it onto Perfetto’s page (chrome://tracing takes it too). It is cut to the selection and has
            counters of GPU utilization and estimated SM efficiency. Nothing is sent anywhere; Perfetto reads it in your browser.
          </small>
        </div>
      )}
    </Popover>
  );
}

interface SaveCutProps {
  readonly url: string;
  /** A route that answers once the trace is open. */
  readonly whenOpen: string;
  readonly onDone: () => void;
  readonly children: ReactNode;
}

/** While the trace is still read there is nothing to cut: what would be saved is the answer that says so. */
function SaveCut({ url, whenOpen, onDone, children }: SaveCutProps) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const save = async () => {
    setBusy(true);
    try {
      await askFor(whenOpen, fetchJson);
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
