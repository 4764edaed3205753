/** The card for an invalid choice of iterations: alternatives, and the way back to the steps. */
import type { Failure } from "../../api/types";
import { textOf } from "../../lib/rows";
import { visibleText } from "../../lib/visibleText";
import type { Target } from "../../state/target";
import { FailureCard } from "../../ui/stateCards";
import { KeyNodeTable } from "./KeyNodeTable";
import { suggestedNames } from "./suggestedNames";
import { setIterationsBy, useKeyNodes } from "./useKeyNodes";

interface Props {
  readonly target: Target;
  readonly failure: Failure;
}

export function IterationsByFailure({ target, failure }: Props) {
  const { table, query } = useKeyNodes(target);
  const names = table === null ? [] : suggestedNames(failure.hint, table.rows.map((row) => textOf(table, row, "name")));
  return (
    <div className="page">
      <FailureCard title="The trace cannot be split into these iterations" file={target.span.file} failure={failure} />
      <p className="choices">
        <button type="button" className="button" onClick={() => setIterationsBy()}>
          Back to steps
        </button>
        {names.map((name) => (
          <button key={name} type="button" className="button" onClick={() => setIterationsBy({ kind: "name", name })}>
            Iterations by {visibleText(name)}
          </button>
        ))}
      </p>
      {table !== null && <KeyNodeTable table={table} query={query} atStart={false} onTake={setIterationsBy} />}
    </div>
  );
}
