/** The trace itself: as it is, or the selection for other viewers. */
import { apiUrl } from "../api/client";
import { selectionQuery, traceQuery, type Target } from "../state/target";
import { useParams } from "../state/urlStore";
import { Popover } from "./Popover";

export function TraceMenu({ target }: { readonly target: Target }) {
  const params = useParams();
  const trace = traceQuery(target);
  return (
    <Popover label="Trace ▾" title="Download the trace, or the selection for Perfetto">
      {(close) => (
        <div className="menu">
          <a className="button" href={apiUrl("download", trace)} download onClick={close}>
            Download the trace file
          </a>
          <a className="button" href={apiUrl("perfetto", { ...trace, ...selectionQuery(params) })} download onClick={close}>
            Download the selection for Perfetto
          </a>
          <small className="soft">
            Perfetto (ui.perfetto.dev) and chrome://tracing open it: cut to the selection, with counters of GPU utilization and
            estimated SM efficiency. Nothing is sent anywhere.
          </small>
        </div>
      )}
    </Popover>
  );
}
