/** A search field over the tree of runs and their files. The field keeps the focus; arrow keys move in the tree. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useId, useRef, useState, type KeyboardEvent } from "react";

import type { Runs } from "../api/types";
import { formatNumber } from "../lib/format";
import { pickerRows, type PickerRow } from "./pickerRows";

interface Props {
  readonly runs: Runs["runs"];
  /** The current trace, by run, worker and span. */
  readonly current: Pick<PickerRow, "run" | "worker" | "span"> | null;
  readonly together: string | null;
  readonly onPick: (row: PickerRow) => void;
}

const ROW_PX = 48;
const PAGE_ROWS = 10;

export function TraceTree({ runs, current, together, onPick }: Props) {
  const id = useId();
  const [search, setSearch] = useState("");
  const [open, setOpen] = useState<ReadonlySet<string>>(() => new Set(current === null ? [] : [current.run]));
  const rows = pickerRows(runs, { search, open, together });
  const [chosen, setChosen] = useState<string | null>(null);
  const isCurrent = (row: PickerRow) => isSame(row, current);
  // Of a search, the first match: the run above matching files is only their heading.
  const proposed = search.trim() === "" ? rows.findIndex(isCurrent) : rows.findIndex(({ isOpen }) => isOpen !== true);
  const active = firstIndex(rows.findIndex(({ key }) => key === chosen), proposed);
  const scroller = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer({ count: rows.length, getScrollElement: () => scroller.current, estimateSize: () => ROW_PX, overscan: 8 });
  useEffect(() => {
    if (rows.length > 0) virtualizer.scrollToIndex(active);
  }, [virtualizer, active, rows.length]);

  const walk = (by: number) => setChosen(rows[Math.min(Math.max(active + by, 0), rows.length - 1)]?.key ?? null);
  const toggle = (run: string) => {
    const next = new Set(open);
    if (!next.delete(run)) next.add(run);
    setOpen(next);
    setChosen(`run ${run}`);
  };
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    const row = rows[active];
    const step = STEPS[event.key];
    if (step !== undefined) walk(step);
    else if (event.key === "Enter" && row !== undefined) onPick(row);
    else if (event.key === "ArrowRight" && row?.isOpen === false && isAtEnd(event.currentTarget)) toggle(row.run);
    else if (event.key === "ArrowLeft" && row !== undefined && open.has(row.run) && event.currentTarget.selectionStart === 0) {
      toggle(row.run);
    } else return;
    event.preventDefault();
  };

  return (
    <>
      <input
        type="search"
        role="combobox"
        className="field"
        placeholder="Run, worker or file"
        aria-label="Find a trace"
        aria-expanded="true"
        aria-haspopup="tree"
        aria-autocomplete="list"
        aria-controls={`${id}tree`}
        aria-activedescendant={rows.length > 0 ? `${id}${active}` : undefined}
        spellCheck={false}
        value={search}
        onChange={({ target }) => {
          setSearch(target.value);
          setChosen(null);
        }}
        onKeyDown={onKeyDown}
      />
      <p className="soft" role="status">
        {countText(rows, runs.length)}
      </p>
      <div ref={scroller} id={`${id}tree`} className="picker-tree" role="tree" aria-label="Runs" style={{ height: ROW_PX * rows.length }}>
        <div style={{ height: virtualizer.getTotalSize() }}>
          {virtualizer.getVirtualItems().map(({ index, start }) => {
            const row = rows[index];
            if (row === undefined) return null;
            return (
              <div
                key={row.key}
                id={`${id}${index}`}
                className={`picker-row level-${row.level}${index === active ? " active" : ""}`}
                role="treeitem"
                aria-level={row.level}
                aria-posinset={row.position}
                aria-setsize={row.count}
                aria-expanded={row.isOpen ?? undefined}
                aria-selected={index === active}
                aria-current={isCurrent(row) || undefined}
                style={{ top: start, height: ROW_PX }}
                onClick={() => onPick(row)}
              >
                <Twisty row={row} onToggle={() => toggle(row.run)} />
                <span className="picker-title">{row.title}</span>
                {row.problem !== null && <span className="picker-problem">⚠ {row.problem}</span>}
                <small className="soft">{row.details}</small>
              </div>
            );
          })}
        </div>
      </div>
    </>
  );
}

/** For the mouse; keys are → and ←. */
function Twisty({ row, onToggle }: { readonly row: PickerRow; readonly onToggle: () => void }) {
  if (row.isOpen === null) return <span className="picker-twisty" />;
  return (
    <span
      className="picker-twisty"
      aria-hidden="true"
      title={row.isOpen ? "Hide the files (←)" : "Show the files (→)"}
      onClick={(event) => {
        event.stopPropagation();
        onToggle();
      }}
    >
      {row.isOpen ? "▾" : "▸"}
    </span>
  );
}

const STEPS: Readonly<Record<string, number>> = {
  ArrowDown: 1,
  ArrowUp: -1,
  PageDown: PAGE_ROWS,
  PageUp: -PAGE_ROWS,
};

function firstIndex(...indexes: readonly number[]): number {
  return indexes.find((index) => index >= 0) ?? 0;
}

function isAtEnd({ selectionStart, value }: HTMLInputElement): boolean {
  return selectionStart === value.length;
}

/** Whether the row is that of the current file, or of its run when this has only one file. */
function isSame(row: PickerRow, current: Props["current"]): boolean {
  if (current === null || row.run !== current.run) return false;
  return row.level === 1 ? row.isOpen === null : row.worker === current.worker && (row.span === null || row.span === current.span);
}

function countText(rows: readonly PickerRow[], all: number): string {
  const shown = rows.filter(({ level }) => level === 1).length;
  const runs = `${formatNumber(all)} ${all === 1 ? "run" : "runs"}`;
  return shown === all ? runs : `${formatNumber(shown)} of ${runs}`;
}
