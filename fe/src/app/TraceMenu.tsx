/** The trace itself: as it is, or the selection for other viewers. */
import { apiUrl } from "../api/client";
import { selectionQuery, traceQuery, type Target } from "../state/target";
import { useParams } from "../state/urlStore";
import { Popover } from "./Popover";
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
          <a className="button" href={apiUrl("perfetto", { ...trace, ...selectionQuery(params) })} download onClick={close}>
            Save {selection === null ? "the whole trace" : lowerFirst(selection)} for Perfetto
          </a>
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

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
