/** A diagram of data pipelines from left to right, with how busy each operation is and how full the queue behind it. */
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
    <figure className="card" aria-label={`${title}, diagram`}>
      <header>
        <h2 title={help}>{title}</h2>
        <span className="soft">samples flow from left to right; bars inside boxes show how busy a stage is, bars between boxes the mean fill of queues</span>
      </header>
      <div className="body pipeline" tabIndex={0} role="group" aria-label="Operations and queues">
        {last.map((operation) => (
          <div key={operation.id}>
            {operation.loader !== null && <h3 className="pipeline-loader">{visibleText(operation.loader)}</h3>}
            <Stage operation={operation} />
          </div>
        ))}
      </div>
    </figure>
  );
}

function Stage({ operation }: { readonly operation: Operation }) {
  const { id, type, isBottleneck, inputs, loader } = operation;
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
          {visibleText(type)}
          {loader === null && ` (${id})`}
        </b>
        <Busy operation={operation} />
        {isBottleneck && <small className="pipeline-mark">bottleneck</small>}
      </div>
      <Queue operation={operation} />
    </div>
  );
}

function Busy({ operation: { workers, timeUs, busyPct, loader } }: { readonly operation: Operation }) {
  const many = workers === null ? "" : `${workers} worker${workers === 1 ? "" : "s"}`;
  return (
    <>
      {(loader === null || many !== "") && <small>{many === "" ? "workers unknown" : many}</small>}
      {timeUs !== null && <small title={exactValue(timeUs, "us")}>{formatValue(timeUs, "us")} per batch</small>}
      {busyPct !== null && (
        <>
          <Bar pct={busyPct} />
          <small title={exactValue(busyPct, "pct")}>{formatValue(busyPct, "pct")} busy</small>
        </>
      )}
    </>
  );
}

function Queue({ operation: { queuePct, queueMean, capacity } }: { readonly operation: Operation }) {
  if (queuePct === null) return null;
  const size = queueMean === null || capacity === null ? "" : `: ${exactValue(queueMean, null)} of ${capacity} on average`;
  return (
    <div className="pipeline-queue" title={`Queue ${exactValue(queuePct, "pct")} full${size}`}>
      <Bar pct={queuePct} />
      <small>{formatValue(queuePct, "pct")} full</small>
    </div>
  );
}

function Bar({ pct }: { readonly pct: number }) {
  return (
    <span className="pipeline-fill" aria-hidden="true">
      <i style={{ width: `${Math.min(100, Math.max(0, pct))}%` }} />
    </span>
  );
}
