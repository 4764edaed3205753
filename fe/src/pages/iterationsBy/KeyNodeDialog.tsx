/** Chooses what one iteration is: a step of the recording, a call of some operator or range, or what is found. */
import { useEffect, useRef, useState } from "react";

import { visibleText } from "../../lib/visibleText";
import { parseCut, STEPS, type Cut } from "../../state/iterationsBy";
import type { Target } from "../../state/target";
import { useParams } from "../../state/urlStore";
import { Segmented } from "../../ui/Segmented";
import { KeyNodeTable } from "./KeyNodeTable";
import { takeCut, useKeyNodes } from "./useKeyNodes";

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
        // Beside the dialog: what is behind it belongs to it.
        if (clicked === currentTarget) onClose();
      }}
    >
      {open && <Choices target={target} onClose={onClose} />}
    </dialog>
  );
}

function Choices({ target, onClose }: Omit<Props, "open">) {
  const now = parseCut(useParams()["iterations_by"]);
  const [atStart, setAtStart] = useState(now?.kind === "start");
  const { answer, table, query } = useKeyNodes(target);
  const take = (cut: Cut) => {
    takeCut(cut);
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
      <p className="soft">Every view, report and comparison then counts by these iterations, and the timeline marks where they begin.</p>
      <div className="choices">
        <button type="button" className="button" aria-pressed={now?.kind === "steps"} onClick={() => take(STEPS)}>
          Steps (default)
        </button>
        <span className="soft">those that the program marked</span>
        <button type="button" className="button" aria-pressed={now?.kind === "auto"} onClick={() => take({ kind: "auto" })}>
          Automatic
        </button>
        <span className="soft">the steps; where there are none, the best of the table</span>
        <Segmented
          label="One iteration ends where"
          values={["end", "start"]}
          value={atStart ? "start" : "end"}
          onPick={(value) => setAtStart(value === "start")}
          title={(value) => (value === "start" ? "Cut where it starts" : "Cut where it ends")}
        />
        <span className="soft">or click a row: each of its calls is the border of two iterations</span>
      </div>
      {answer.state === "failed" && <p role="alert">{visibleText(answer.failure.message)}</p>}
      {table === null && answer.state !== "failed" && <p className="soft">Looking for what repeats …</p>}
      {table !== null && <KeyNodeTable table={table} query={query} atStart={atStart} onTake={take} />}
    </>
  );
}
