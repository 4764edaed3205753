/** The dialog that chooses what one iteration is: a step, a call of an operator or range, or what is detected. */
import { useEffect, useRef, useState } from "react";

import { visibleText } from "../../lib/visibleText";
import { DEFAULT, parseIterationsBy, type IterationsBy } from "../../state/iterationsBy";
import type { Target } from "../../state/target";
import { useParams } from "../../state/urlStore";
import { Segmented } from "../../ui/Segmented";
import { KeyNodeTable } from "./KeyNodeTable";
import { setIterationsBy, useKeyNodes } from "./useKeyNodes";

interface Props {
  readonly target: Target;
  readonly open: boolean;
  readonly onClose: () => void;
}

const TITLE = "What one iteration is";

export function KeyNodeDialog({ target, open, onClose }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (open) dialog.current?.showModal();
    else dialog.current?.close();
  }, [open]);
  return (
    <dialog
      ref={dialog}
      className="key-nodes"
      aria-label={TITLE}
      onClose={onClose}
      onClick={({ target: clicked, currentTarget }) => {
        // A click on the backdrop has the dialog itself as its target.
        if (clicked === currentTarget) onClose();
      }}
    >
      {open && <Choices target={target} onClose={onClose} />}
    </dialog>
  );
}

function Choices({ target, onClose }: Omit<Props, "open">) {
  const now = parseIterationsBy(useParams()["iterations_by"]);
  const [atStart, setAtStart] = useState(now?.kind === "start");
  const { answer, table, query } = useKeyNodes(target);
  const take = (iterationsBy: IterationsBy) => {
    setIterationsBy(iterationsBy);
    onClose();
  };
  return (
    <>
      <div className="page-head">
        <h1>{TITLE}</h1>
        <span style={{ flex: 1 }} />
        <button type="button" className="button" onClick={onClose}>
          Close
        </button>
      </div>
      <p className="soft">All views, reports and comparisons then use these iterations, and the timeline marks where they begin.</p>
      <div className="choices">
        <button type="button" className="button" aria-pressed={now?.kind === "default"} onClick={() => take(DEFAULT)}>
          Steps (default)
        </button>
        <span className="soft">as marked by the program, or without any by a clear key node</span>
        <button type="button" className="button" aria-pressed={now?.kind === "steps"} onClick={() => take({ kind: "steps" })}>
          Steps as recorded
        </button>
        <span className="soft">without any the whole recording</span>
        <button type="button" className="button" aria-pressed={now?.kind === "auto"} onClick={() => take({ kind: "auto" })}>
          Automatic
        </button>
        <span className="soft">the steps, or without any the first row of the table</span>
        <Segmented
          label="Iteration boundary"
          values={["end", "start"]}
          value={atStart ? "start" : "end"}
          onPick={(value) => setAtStart(value === "start")}
          title={(value) => (value === "start" ? "Boundary at its start" : "Boundary at its end")}
        />
        <span className="soft">or click a row: each of its calls becomes an iteration boundary</span>
      </div>
      {answer.state === "failed" && <p role="alert">{visibleText(answer.failure.message)}</p>}
      {table === null && answer.state !== "failed" && <p className="soft">Detecting what repeats …</p>}
      {table !== null && <KeyNodeTable table={table} query={query} atStart={atStart} onTake={take} />}
    </>
  );
}
