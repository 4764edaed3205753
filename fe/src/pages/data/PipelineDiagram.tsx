/** A data pipeline from left to right: readers first, the queue behind each operation as far as it is full. */
import { exactValue, formatValue } from "../../lib/format";
import { visibleText } from "../../lib/visibleText";
import type { Operation } from "./pipelineTree";

interface Props {
  readonly title: string;
  readonly help: string;
  readonly last: readonly Operation[];
}

export function PipelineDiagram({ title, help, last }: Props) {
  return (
    <figure className="card" aria-label={`${title}, drawn`}>
      <header>
        <h2 title={help}>{title}</h2>
        <span className="soft">samples go from left to right; bars are the mean fill of queues</span>
      </header>
      <div className="body pipeline" tabIndex={0} role="group" aria-label="Operations and queues">
        {last.map((operation) => (
          <Stage key={operation.id} operation={operation} />
        ))}
      </div>
    </figure>
  );
}

function Stage({ operation }: { readonly operation: Operation }) {
  const { id, type, workers, isBottleneck, inputs } = operation;
  return (
    <div className="pipeline-stage">
      {inputs.length > 0 && (
        <div className="pipeline-inputs">
          {inputs.map((input) => (
            <Stage key={input.id} operation={input} />
          ))}
        </div>
      )}
      <div className={isBottleneck ? "pipeline-operation slow" : "pipeline-operation"}>
        <b>
          {visibleText(type)} ({id})
        </b>
        <small>{workers === null ? "workers not told" : `${workers} worker${workers === 1 ? "" : "s"}`}</small>
        {isBottleneck && <small className="pipeline-mark">bottleneck</small>}
      </div>
      <Queue operation={operation} />
    </div>
  );
}

function Queue({ operation: { queuePct, queueMean, capacity } }: { readonly operation: Operation }) {
  if (queuePct === null) return null;
  const size = queueMean === null || capacity === null ? "" : `: ${exactValue(queueMean, null)} of ${capacity} in the mean`;
  return (
    <div className="pipeline-queue" title={`Queue ${exactValue(queuePct, "pct")} full${size}`}>
      <span className="pipeline-fill" aria-hidden="true">
        <i style={{ width: `${Math.min(100, Math.max(0, queuePct))}%` }} />
      </span>
      <small>{formatValue(queuePct, "pct")} full</small>
    </div>
  );
}
