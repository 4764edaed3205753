/** Which trace is shown, as a button; and the dialog that chooses another. */
import { useEffect, useRef, type ReactNode } from "react";

import type { Run, Runs, ViewInfo } from "../api/types";
import { visibleText } from "../lib/visibleText";
import { AGGREGATIONS_KEY } from "../state/aggregations";
import { NO_BASELINE_SELECTION, NO_MOMENTS, NO_SELECTION } from "../state/selection";
import type { Target } from "../state/target";
import { goToView, navigate } from "../state/urlStore";
import { LeftOut } from "./LeftOut";
import { ALL_WORKERS, runTitle, spanTitle, type PickerRow } from "./pickerRows";
import { TraceTree } from "./TraceTree";

interface Props {
  readonly runs: Runs;
  readonly target: Target;
  readonly view: ViewInfo | null;
  readonly views: readonly ViewInfo[];
  readonly open: boolean;
  readonly onOpen: () => void;
  readonly onClose: () => void;
}

const NO_SELECTION_KEPT = { ...NO_SELECTION, [AGGREGATIONS_KEY]: null };
const NO_BASELINE = { baseline_run: null, baseline_worker: null, baseline_span: null, ...NO_BASELINE_SELECTION };

export function TracePicker({ runs, target, view, views, open, onOpen, onClose }: Props) {
  const { run } = target;
  const isTogether = view?.scope === "run";
  const together = run.workers.length < 2 ? undefined : views.find((each) => each.scope === "run" && each.available);
  const pick = (row: PickerRow) => {
    onClose();
    if (row.worker === ALL_WORKERS) {
      if (together !== undefined) goToView(together.name);
      return;
    }
    const place = { run: row.run, worker: row.worker, span: row.span };
    // Where a baseline is seen it stays; elsewhere the next run brings the one that suits it.
    const baseline = row.run === run.name || view?.scope === "pair" ? {} : NO_BASELINE;
    // Steps mean the same on another worker of the run; another run or span has its own.
    const selection = row.run === run.name && row.span === target.span.name ? NO_MOMENTS : NO_SELECTION_KEPT;
    navigate({ ...place, ...baseline, ...selection, ...(isTogether && row.run === run.name && row.worker !== null ? { view: "overview" } : {}) });
  };
  return (
    <>
      <button type="button" className="button picker-button" title="Choose run, worker and span" aria-haspopup="dialog" onClick={onOpen}>
        {target.unknown === null ? targetTitle(target, runs.runs, isTogether) : "Choose a trace"} ▾
      </button>
      <PickerDialog open={open} onClose={onClose}>
        <TraceTree
          runs={runs.runs}
          current={target.unknown !== null ? null : { run: run.name, worker: isTogether ? ALL_WORKERS : target.worker.name, span: target.span.name }}
          together={together === undefined ? null : run.name}
          onPick={pick}
        />
        <LeftOut runs={runs} onOpened={onClose} />
      </PickerDialog>
    </>
  );
}

/** Of run, worker and span what there are several of; the run at least. */
export function targetTitle({ run, worker, span }: Target, runs: readonly Run[], isTogether: boolean): string {
  const hasWorkers = run.workers.length > 1;
  const hasSpans = worker.spans.length > 1;
  const parts = runs.length > 1 || !(hasWorkers || hasSpans) ? [runTitle(run)] : [];
  if (hasWorkers) parts.push(isTogether ? `All ${run.workers.length} workers` : visibleText(worker.name === "" ? "(no name)" : worker.name));
  if (hasSpans) parts.push(spanTitle(span));
  return parts.join(" ▸ ");
}

interface DialogProps {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

function PickerDialog({ open, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (!open) {
      dialog.current?.close();
      return;
    }
    dialog.current?.showModal();
    dialog.current?.querySelector("input")?.focus();
  }, [open]);
  return (
    <dialog
      ref={dialog}
      className="picker-dialog"
      aria-label="Choose a trace"
      onClose={onClose}
      onClick={({ target, currentTarget }) => {
        // Beside the dialog: what is behind it belongs to it.
        if (target === currentTarget) onClose();
      }}
    >
      {open && (
        <>
          <div className="page-head">
            <h1>Choose a trace</h1>
            <span style={{ flex: 1 }} />
            <button type="button" className="button" onClick={onClose}>
              Close
            </button>
          </div>
          {children}
        </>
      )}
    </dialog>
  );
}
