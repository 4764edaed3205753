/** The address names a trace that is not there (any more): what to do instead. */
import type { Runs } from "../api/types";
import { visibleText } from "../lib/visibleText";
import { NO_SELECTION } from "../state/selection";
import { isReadable, newestFirst } from "../state/traceOrder";
import { navigate } from "../state/urlStore";
import { runTitle } from "./pickerRows";

interface Props {
  readonly runs: Runs;
  /** What is not there, in words. */
  readonly unknown: string;
  readonly onChoose: () => void;
}

const NOTHING_NAMED = { worker: null, span: null, ...NO_SELECTION };

export function GoneCard({ runs, unknown, onChoose }: Props) {
  const newest = newestFirst(runs.runs).find(isReadable);
  return (
    <section className="card failed" role="alert">
      <header>
        <h2>This trace is not here</h2>
      </header>
      <div className="body">
        <p>
          There is no {visibleText(unknown)} here. It was deleted or moved since the link was made, or is still being written: then it appears when it is
          complete.
        </p>
        <p className="ways-on">
          {newest !== undefined && (
            <button type="button" className="button" onClick={() => navigate({ run: newest.name, ...NOTHING_NAMED })}>
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
