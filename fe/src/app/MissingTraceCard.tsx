/** The address names a trace that does not exist (any more): the ways on. */
import type { Runs } from "../api/types";
import { visibleText } from "../lib/visibleText";
import { NO_SELECTION } from "../state/selection";
import { isReadable, newestFirst } from "../state/traceOrder";
import { navigate } from "../state/urlStore";
import { runTitle } from "./pickerRows";

interface Props {
  readonly runs: Runs;
  /** What is missing, as text. */
  readonly unknown: string;
  readonly onChoose: () => void;
}

const CLEARED = { worker: null, span: null, ...NO_SELECTION };

export function MissingTraceCard({ runs, unknown, onChoose }: Props) {
  const newest = newestFirst(runs.runs).find(isReadable);
  return (
    <section className="card failed" role="alert">
      <header>
        <h2>Trace not found</h2>
      </header>
      <div className="body">
        <p>
          There is no {visibleText(unknown)}. It was deleted or moved after the link was created, or it is still being written and appears when it is
          complete.
        </p>
        <p className="ways-on">
          {newest !== undefined && (
            <button type="button" className="button" onClick={() => navigate({ run: newest.name, ...CLEARED })}>
              Go to the newest: {runTitle(newest)}
            </button>
          )}
          <button type="button" className="button" onClick={onChoose}>
            Choose another
          </button>
        </p>
      </div>
    </section>
  );
}
