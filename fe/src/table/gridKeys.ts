/** Keyboard control of a table: arrows move, open and close, Enter opens, Ctrl+C copies. */
import type { KeyboardEvent } from "react";

import type { Row } from "../api/types";
import { toTabs } from "../lib/csv";
import { copyText } from "../lib/download";
import type { NameMode } from "../lib/names";
import type { ColumnLayout } from "./columnLayout";
import { exactCell } from "./columnView";
import type { GridItem } from "./gridLines";

export interface Position {
  readonly item: number;
  readonly column: number;
}

export interface GridState {
  readonly items: readonly GridItem[];
  readonly layout: ColumnLayout;
  /** Key of the column with the expander. */
  readonly label: string | null;
  readonly mode: NameMode;
  readonly onToggle: (id: string) => void;
  /** The id of the chosen row, and the callback that chooses one; null when rows cannot be chosen. */
  readonly choice: { readonly id: string | null; readonly onChoose: (row: Row) => void } | null;
}

const PAGE_ROWS = 20;

export function handleKey(event: KeyboardEvent, grid: GridState, active: Position | null, moveTo: (next: Position) => void): void {
  const item = active === null ? undefined : grid.items[active.item];
  const isChorded = event.ctrlKey || event.metaKey || event.altKey;
  const next = isChorded ? undefined : nextPosition(event.key, grid, active ?? { item: -1, column: 0 });
  if (next === "toggle") {
    if (item !== undefined) grid.onToggle(item.id);
  } else if (next !== undefined) moveTo(next);
  else if (item === undefined || active === null) return;
  else if (event.key === "Enter" && grid.choice !== null) grid.choice.onChoose(item.row);
  else if (event.key === "Enter" && item.expander !== null) grid.onToggle(item.id);
  else if (event.key.toLowerCase() === "c" && (event.ctrlKey || event.metaKey) && document.getSelection()?.isCollapsed !== false) {
    void copyText(copied(grid, item, active.column, event.shiftKey));
  } else return;
  event.preventDefault();
}

/** The position after a key; "toggle" when it opens or closes the current row; undefined for other keys. */
export function nextPosition(key: string, { items, layout, label }: Pick<GridState, "items" | "layout" | "label">, at: Position): Position | "toggle" | undefined {
  const item = items[at.item];
  const isLabel = layout.visible[at.column]?.column.key === label;
  if (key === "ArrowRight" && isLabel && item?.expander === "closed") return "toggle";
  if (key === "ArrowLeft" && isLabel && item?.expander === "open") return "toggle";
  if (key === "ArrowLeft" && at.column === 0 && item !== undefined && item.depth > 0) {
    return { item: items.findLastIndex((each, index) => index < at.item && each.depth < item.depth), column: at.column };
  }
  const steps: Partial<Record<string, Position>> = {
    ArrowDown: { item: at.item + 1, column: at.column },
    ArrowUp: { item: at.item - 1, column: at.column },
    ArrowRight: { item: at.item, column: at.column + 1 },
    ArrowLeft: { item: at.item, column: at.column - 1 },
    PageDown: { item: at.item + PAGE_ROWS, column: at.column },
    PageUp: { item: at.item - PAGE_ROWS, column: at.column },
    Home: { item: 0, column: at.column },
    End: { item: items.length - 1, column: at.column },
  };
  return steps[key];
}

function copied({ layout, mode }: GridState, { row }: GridItem, column: number, wholeRow: boolean): string {
  if (wholeRow) return toTabs(layout.visible.map((view) => exactCell(view, row, mode)));
  const view = layout.visible[column];
  const cell = view === undefined ? null : exactCell(view, row, mode);
  return cell === null ? "" : String(cell);
}
