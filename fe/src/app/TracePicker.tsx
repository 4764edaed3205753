/** A button with the current trace, and the dialog that chooses another. */
import { useEffect, useRef, type ReactNode } from "react";

import type { Run, Runs, ViewInfo } from "../api/types";
import { visibleText } from "../lib/visibleText";
import { SAVED_SELECTIONS_KEY } from "../state/savedSelections";
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

const CLEARED_SELECTION = { ...NO_SELECTION, [SAVED_SELECTIONS_KEY]: null };
const NO_BASELINE = { baseline_run: null, baseline_worker: null, baseline_span: null, ...NO_BASELINE_SELECTION };

export function TracePicker({ runs, target, view, views, open, onOpen, onClose }: Props) {
  const { run } = target;
  const isAllWorkers = view?.scope === "run";
  const runView = run.workers.length < 2 ? undefined : views.find((each) => each.scope === "run" && each.available);
  const pick = (row: PickerRow) => {
    onClose();
    if (row.worker === ALL_WORKERS) {
      if (runView !== undefined) goToView(runView.name);
      return;
    }
    const trace = { run: row.run, worker: row.worker, span: row.span };
    // A visible baseline stays; otherwise the default baseline of the new run applies.
    const baseline = row.run === run.name || view?.scope === "pair" ? {} : NO_BASELINE;
    // Steps mean the same on another worker of the run; another run or span has other steps.
    const selection = row.run === run.name && row.span === target.span.name ? NO_MOMENTS : CLEARED_SELECTION;
    navigate({ ...trace, ...baseline, ...selection, ...(isAllWorkers && row.run === run.name && row.worker !== null ? { view: "overview" } : {}) });
  };
  return (
    <>
      <button type="button" className="button picker-button" title="Choose run, worker and span" aria-haspopup="dialog" onClick={onOpen}>
        {target.unknown === null ? targetTitle(target, runs.runs, isAllWorkers) : "Choose a trace"}
        <span className="no-print"> ▾</span>
      </button>
      <PickerDialog open={open} onClose={onClose}>
        <TraceTree
          runs={runs.runs}
          current={target.unknown !== null ? null : { run: run.name, worker: isAllWorkers ? ALL_WORKERS : target.worker.name, span: target.span.name }}
          together={runView === undefined ? null : run.name}
          onPick={pick}
        />
        <LeftOut runs={runs} onOpened={onClose} />
      </PickerDialog>
    </>
  );
}

/** Those of run, worker and span that there are several of; at least the run. */
export function targetTitle({ run, worker, span }: Target, runs: readonly Run[], isAllWorkers: boolean): string {
  const hasWorkers = run.workers.length > 1;
  const hasSpans = worker.spans.length > 1;
  const parts = runs.length > 1 || !(hasWorkers || hasSpans) ? [runTitle(run)] : [];
  if (hasWorkers) parts.push(isAllWorkers ? `All ${run.workers.length} workers` : visibleText(worker.name === "" ? "(no name)" : worker.name));
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
        // A click on the backdrop has the dialog itself as its target.
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
