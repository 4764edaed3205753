/** Header and rows in one scrolling box; only the rows in sight exist. Arrow keys move, Enter opens, Ctrl+C copies. */
import { defaultRangeExtractor, useVirtualizer, type Range } from "@tanstack/react-virtual";
import { useEffect, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { flushSync } from "react-dom";

import { onPrinting } from "../app/printing";
import type { Row } from "../api/types";
import { toTabs } from "../lib/csv";
import { copyText } from "../lib/download";
import { Cell } from "./Cell";
import type { ColumnLayout } from "./columnLayout";
import { CellMenu, type MenuPlace } from "./CellMenu";

export interface GridItem {
  readonly row: Row;
  readonly id: string;
  readonly depth: number;
  /** Null when rows of this table never open. */
  readonly expander: "open" | "closed" | "none" | null;
  readonly detailOpen: boolean;
}

interface Props {
  readonly id: string;
  readonly items: readonly GridItem[];
  readonly layout: ColumnLayout;
  readonly viewportWidth: number;
  /** The column that carries the expander and the indentation. */
  readonly label: string | null;
  readonly detail: ((row: Row) => ReactNode) | undefined;
  readonly onToggle: (id: string) => void;
  readonly more: (() => void) | null;
  readonly maxHeight: string;
  readonly head: ReactNode;
  readonly empty: string;
}

const ROW_PX = 24;
const DETAIL_GUESS_PX = 240;
const INDENT_PX = 14;
const TWISTY_PX = 18;

interface Position {
  readonly item: number;
  readonly column: number;
}

export function GridBody(props: Props) {
  const { items, layout, label, onToggle, more } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState<Position | null>(null);
  const [menu, setMenu] = useState<MenuPlace | null>(null);
  const lines = drawnLines(items);
  const printing = usePrinting();
  const virtualizer = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => (lines[index]?.detail === true ? DETAIL_GUESS_PX : ROW_PX),
    getItemKey: (index) => lineKey(items, lines[index]),
    overscan: 12,
    rangeExtractor: printing ? printedLines : defaultRangeExtractor,
  });
  const drawn = virtualizer.getVirtualItems();
  const lastDrawn = drawn.at(-1)?.index ?? -1;
  const nearEnd = more !== null && lastDrawn >= lines.length - 40;
  useEffect(() => {
    if (nearEnd) more();
  }, [nearEnd, more]);

  const moveTo = (next: Position) => {
    const item = Math.max(0, Math.min(items.length - 1, next.item));
    const column = Math.max(0, Math.min(layout.visible.length - 1, next.column));
    setActive({ item, column });
    virtualizer.scrollToIndex(lines.findIndex((line) => line.item === item));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== scroller.current) return;
    handleKey(event, props, active, moveTo);
  };
  const cellId = (position: Position) => `${props.id}-${position.item}-${position.column}`;

  return (
    <div
      ref={scroller}
      className="grid-scroll"
      role="table"
      aria-rowcount={items.length}
      tabIndex={0}
      aria-activedescendant={active === null ? undefined : cellId(active)}
      style={{ maxHeight: props.maxHeight }}
      onKeyDown={onKeyDown}
    >
      <div className="grid-head">{props.head}</div>
      {items.length === 0 && <p className="grid-empty">{props.empty}</p>}
      <div className="grid-body" style={{ position: "relative", height: printing ? printedPx(drawn) : virtualizer.getTotalSize(), minWidth: layout.totalWidth }}>
        {drawn.map(({ index, start, key }) => {
          const line = lines[index];
          const item = line === undefined ? undefined : items[line.item];
          if (line === undefined || item === undefined) return null;
          const style = { transform: `translateY(${start}px)` };
          if (line.detail) {
            return (
              <div key={key} data-index={index} ref={virtualizer.measureElement} className="grid-detail" style={style}>
                <div style={{ width: props.viewportWidth }}>{props.detail?.(item.row)}</div>
              </div>
            );
          }
          return (
            <div key={key} role="row" aria-rowindex={line.item + 1} className={`grid-row${item.detailOpen ? " open" : ""}`} style={style}>
              {layout.visible.map((view, column) => {
                const { key: columnKey } = view.column;
                const isLabel = columnKey === label;
                const place = { item: line.item, column };
                return (
                  <div
                    key={columnKey}
                    style={{ display: "contents" }}
                    onClick={() => setActive(place)}
                    onDoubleClick={item.expander === null ? undefined : () => onToggle(item.id)}
                    onContextMenu={(event) => {
                      event.preventDefault();
                      setActive(place);
                      setMenu({ x: event.clientX, y: event.clientY, row: item.row, view });
                    }}
                  >
                    <Cell
                      id={cellId(place)}
                      view={view}
                      value={item.row[view.index] ?? null}
                      bounds={view.bounds(item.row)}
                      width={layout.widths.get(columnKey) ?? view.width}
                      active={active?.item === place.item && active.column === column}
                      lead={isLabel ? <Twisty item={item} onToggle={onToggle} /> : undefined}
                      leadWidth={isLabel && item.expander !== null ? item.depth * INDENT_PX + TWISTY_PX : 0}
                    />
                  </div>
                );
              })}
            </div>
          );
        })}
      </div>
      {menu !== null && <CellMenu place={menu} layout={layout} onClose={() => setMenu(null)} />}
    </div>
  );
}

/** On paper nobody scrolls: the rows from the first on, as many as one would read. */
const PRINTED_ROWS = 200;

function printedLines({ count }: Range): number[] {
  return Array.from({ length: Math.min(count, PRINTED_ROWS) }, (_, index) => index);
}

/** The height of the rows that are printed. */
function printedPx(drawn: readonly { readonly end: number }[]): number {
  return drawn.at(-1)?.end ?? 0;
}

function usePrinting(): boolean {
  const [printing, setPrinting] = useState(false);
  // The rows have to be there when the browser takes its picture of the page.
  useEffect(() => onPrinting((now) => flushSync(() => setPrinting(now))), []);
  return printing;
}

function Twisty({ item, onToggle }: { readonly item: GridItem; readonly onToggle: (id: string) => void }) {
  if (item.expander === null) return null;
  const isOpen = item.expander === "open";
  return (
    <button
      type="button"
      className={`twisty${item.expander === "none" ? " none" : ""}`}
      style={{ marginLeft: item.depth * INDENT_PX - 4 }}
      aria-expanded={isOpen}
      aria-label={isOpen ? "Close row" : "Open row"}
      tabIndex={-1}
      onClick={() => onToggle(item.id)}
    >
      {isOpen ? "▼" : "▶"}
    </button>
  );
}

interface DrawnLine {
  readonly item: number;
  readonly detail: boolean;
}

/** Every row, and after an open one its detail. */
function drawnLines(items: readonly GridItem[]): DrawnLine[] {
  return items.flatMap((item, index) =>
    item.detailOpen
      ? [
          { item: index, detail: false },
          { item: index, detail: true },
        ]
      : [{ item: index, detail: false }],
  );
}

function lineKey(items: readonly GridItem[], line: DrawnLine | undefined): string {
  if (line === undefined) return "";
  return line.detail ? `detail of ${items[line.item]?.id ?? ""}` : `row ${line.item}`;
}

function handleKey(event: KeyboardEvent, props: Props, active: Position | null, moveTo: (next: Position) => void): void {
  const { items, layout, onToggle } = props;
  const at = active ?? { item: -1, column: 0 };
  const steps: Partial<Record<string, Position>> = {
    ArrowDown: { item: at.item + 1, column: at.column },
    ArrowUp: { item: at.item - 1, column: at.column },
    ArrowRight: { item: at.item, column: at.column + 1 },
    ArrowLeft: { item: at.item, column: at.column - 1 },
    PageDown: { item: at.item + 20, column: at.column },
    PageUp: { item: at.item - 20, column: at.column },
    Home: { item: 0, column: at.column },
    End: { item: items.length - 1, column: at.column },
  };
  const next = steps[event.key];
  const item = items[at.item];
  if (next !== undefined && !event.ctrlKey && !event.metaKey) moveTo(next);
  else if (item === undefined) return;
  else if (event.key === "Enter" && item.expander !== null) onToggle(item.id);
  else if (event.key.toLowerCase() === "c" && (event.ctrlKey || event.metaKey) && document.getSelection()?.isCollapsed !== false) {
    const view = layout.visible[at.column];
    const cell = view === undefined ? null : (item.row[view.index] ?? null);
    const visibleCells = layout.visible.map((each) => item.row[each.index] ?? null);
    void copyText(event.shiftKey ? toTabs(visibleCells) : cell === null ? "" : String(cell));
  } else return;
  event.preventDefault();
}
