/** The titles of the columns (sort, resize, help) and their filters. */
import type { PointerEvent } from "react";

import type { Note } from "../api/types";
import type { Clause, SortKey } from "../lib/grammar";
import { NoteMark } from "../ui/noteMarks";
import type { ColumnLayout } from "./columnLayout";
import { headerTitle, type ColumnView } from "./columnView";
import { FilterInput } from "./FilterInput";
import type { TableStateControl } from "./useTableState";

interface TitlesProps {
  readonly layout: ColumnLayout;
  readonly control: TableStateControl;
  /** Quality notes by column key. */
  readonly noteByKey: ReadonlyMap<string, Note>;
}

export function TitleRow({ layout, control, noteByKey }: TitlesProps) {
  // The default order of the server has keys that only break ties: only the first is shown.
  const sort = control.sortIsChosen ? control.state.sort : control.state.sort.slice(0, 1);
  return (
    <div className="grid-row" role="row" aria-rowindex={1}>
      {layout.visible.map((view) => {
        const id = view.column.key;
        const index = sort.findIndex((each) => each.key === id);
        const key = sort[index];
        const note = noteByKey.get(id);
        const width = layout.widths.get(id) ?? 0;
        return (
          <div
            key={id}
            role="columnheader"
            aria-sort={key === undefined ? "none" : key.descending ? "descending" : "ascending"}
            className={`grid-title${view.numeric ? " number" : ""}`}
            style={{ width }}
          >
            <button
              type="button"
              title={note === undefined ? headerTitle(view) : `${headerTitle(view)}\nNote: ${note.text}`}
              onClick={(event) => control.setSort(nextSort(sort, view, event.shiftKey))}
            >
              <span>
                {view.column.title}
                {key !== undefined && (
                  <span aria-hidden="true">
                    {key.descending ? " ▾" : " ▴"}
                    {sort.length > 1 && <sub>{index + 1}</sub>}
                  </span>
                )}
              </span>
              {(view.scale.label !== "" || view.column.estimated) && (
                <span className="unit">
                  {view.scale.label}
                  {view.column.estimated && <span className="est"> est.</span>}
                </span>
              )}
            </button>
            {note !== undefined && <NoteMark note={note} about={view.column.title} />}
            <span
              className="resizer no-print"
              aria-hidden="true"
              title="Drag to resize, double-click to reset"
              onPointerDown={(event) => startResize(event, width, (next, settled) => layout.resize(id, next, settled))}
              onDoubleClick={() => layout.resize(id, null, true)}
            />
          </div>
        );
      })}
    </div>
  );
}

/** Resizes with the pointer until it is released. */
function startResize(event: PointerEvent<HTMLElement>, widthPx: number, onWidth: (widthPx: number, settled: boolean) => void): void {
  const grip = event.currentTarget;
  const startPx = event.clientX;
  const follow = (move: globalThis.PointerEvent) => onWidth(widthPx + move.clientX - startPx, false);
  const stop = new AbortController();
  const settle = (end: globalThis.PointerEvent) => {
    stop.abort();
    if (end.clientX !== startPx) onWidth(widthPx + end.clientX - startPx, true);
  };
  grip.setPointerCapture(event.pointerId);
  grip.addEventListener("pointermove", follow, { signal: stop.signal });
  for (const end of ["pointerup", "pointercancel"]) grip.addEventListener(end, settle as EventListener, { signal: stop.signal });
}

/**
 * A click sorts by the column alone, another reverses the order; with Shift the column is added.
 *
 * @param sort The current keys, as shown.
 */
export function nextSort(sort: readonly SortKey[], view: ColumnView, add: boolean): SortKey[] {
  const { key } = view.column;
  const present = sort.find((entry) => entry.key === key);
  // Numbers start with the largest, names with A.
  const next: SortKey = { key, descending: present === undefined ? view.numeric : !present.descending };
  if (!add) return [next];
  if (present === undefined) return [...sort, next];
  return sort.map((entry) => (entry.key === key ? next : entry));
}

interface FiltersProps {
  readonly columns: readonly ColumnView[];
  readonly widths: ReadonlyMap<string, number>;
  readonly control: TableStateControl;
  /** Why the server rejects the filters. */
  readonly rejection: string | null;
}

export function FilterRow({ columns, widths, control, rejection }: FiltersProps) {
  const { filter } = control.state;
  return (
    <div className="grid-row grid-filters no-print" role="row" aria-rowindex={2}>
      {columns.map((view) => {
        const { key } = view.column;
        const others = filter.filter((clause) => clause.key !== key);
        return (
          <div key={key} className="grid-filter" role="gridcell" style={{ width: widths.get(key) }}>
            <FilterInput
              view={view}
              rejection={rejection}
              clauses={filter.filter((clause) => clause.key === key)}
              onChange={(clauses: Clause[]) => control.setFilter([...others, ...clauses])}
            />
          </div>
        );
      })}
    </div>
  );
}
