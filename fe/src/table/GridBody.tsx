/** Header, rows and sums in one scrolling box; only visible rows exist. Arrow keys move, Enter opens, Ctrl+C copies. */
import { defaultRangeExtractor, useVirtualizer, type Range } from "@tanstack/react-virtual";
import { useEffect, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { flushSync } from "react-dom";

import type { Row } from "../api/types";
import { formatNumber } from "../lib/format";
import { onPrinting } from "../ui/printing";
import { CellMenu, type MenuTarget } from "./CellMenu";
import { handleKey, type GridState, type Position } from "./gridKeys";
import { drawnLines, lineKey } from "./gridLines";
import { DetailRow, GridRow } from "./GridRow";
import { usePageWheel } from "./pageWheel";

interface Props extends GridState {
  readonly id: string;
  /** Title of the table, for screen readers. */
  readonly title: string;
  readonly viewportWidth: number;
  readonly detail: ((row: Row) => ReactNode) | undefined;
  readonly more: (() => void) | null;
  readonly maxHeight: string;
  /** Number of rows that pass the filters, also those not loaded yet. */
  readonly matching: number;
  readonly head: ReactNode;
  /** Number of rows in `head`. */
  readonly headRows: number;
  /** The row below the others, given its index. */
  readonly foot: ((rowIndex: number) => ReactNode) | null;
  readonly empty: string;
}

const ROW_PX = 24;
const DETAIL_GUESS_PX = 240;

export function GridBody(props: Props) {
  const { items, layout, more, headRows } = props;
  const scroller = useRef<HTMLDivElement>(null);
  usePageWheel(scroller);
  const [active, setActive] = useState<Position | null>(null);
  const [menu, setMenu] = useState<MenuTarget | null>(null);
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
  const isDrawn = (position: Position | null) => position !== null && drawn.some(({ index }) => lines[index]?.item === position.item);
  const allRows = headRows + lines.length + Math.max(0, props.matching - items.length) + 1;

  return (
    <div
      ref={scroller}
      className="grid-scroll"
      role={items.some(({ expander }) => expander !== null) ? "treegrid" : "grid"}
      aria-label={props.title}
      aria-rowcount={allRows}
      aria-colcount={layout.visible.length}
      tabIndex={0}
      aria-activedescendant={active !== null && isDrawn(active) ? cellId(active) : undefined}
      style={{ maxHeight: props.maxHeight, ...(printing ? { zoom: printedZoom(scroller.current, props) } : {}) }}
      onKeyDown={onKeyDown}
    >
      <div className="grid-head" role="rowgroup">
        {props.head}
      </div>
      <div className="grid-body" role="rowgroup" style={{ position: "relative", height: printing || lines.length === 0 ? undefined : virtualizer.getTotalSize(), minWidth: layout.totalWidth }}>
        {items.length === 0 && (
          <div role="row" aria-rowindex={headRows + 1}>
            <div role="gridcell" aria-colspan={layout.visible.length} className="grid-empty">
              {props.empty}
            </div>
          </div>
        )}
        {drawn.map(({ index, start, key }) => {
          const line = lines[index];
          const item = line === undefined ? undefined : items[line.item];
          if (line === undefined || item === undefined) return null;
          const rowProps = { rowIndex: headRows + index + 1, style: { transform: `translateY(${start}px)` } };
          if (line.detail) {
            return (
              <DetailRow key={key} {...rowProps} item={item} layout={layout} widthPx={props.viewportWidth} line={index} measure={virtualizer.measureElement}>
                {props.detail?.(item.row)}
              </DetailRow>
            );
          }
          return <GridRow key={key} {...rowProps} grid={props} item={item} itemIndex={line.item} active={active} cellId={cellId} onActive={setActive} onMenu={setMenu} />;
        })}
      </div>
      {props.foot?.(allRows)}
      {printing && lines.length > PRINTED_ROWS && (
        <div className="grid-empty">
          The first {PRINTED_ROWS} of {formatNumber(props.matching)} rows. Export the table for all of them.
        </div>
      )}
      {menu !== null && <CellMenu target={menu} layout={layout} mode={props.mode} onClose={() => setMenu(null)} />}
    </div>
  );
}

/** Rows that are printed, as paper does not scroll. */
const PRINTED_ROWS = 200;

function printedLines({ count }: Range): number[] {
  return Array.from({ length: Math.min(count, PRINTED_ROWS) }, (_, index) => index);
}

/** What an A4 sheet has room for between its margins (`print.css`), in CSS px. */
const PAPER_PX = 700;

/** Makes a table that is wider than the sheet, or than the row it is in, as small as it needs: nothing is cut off. */
function printedZoom(element: HTMLElement | null, { layout, viewportWidth, items }: Pick<Props, "layout" | "viewportWidth" | "items">): number {
  const isInRow = element?.closest(".grid-detail") != null;
  const neededPx = Math.max(layout.totalWidth, items.some(({ detailOpen }) => detailOpen) ? viewportWidth : 0);
  return Math.min(1, (isInRow ? viewportWidth : PAPER_PX) / Math.max(1, neededPx));
}

function usePrinting(): boolean {
  const [printing, setPrinting] = useState(false);
  // The rows must exist when the browser captures the page.
  useEffect(() => onPrinting((now) => flushSync(() => setPrinting(now))), []);
  return printing;
}
