/**
 * The names of the tracks at the left. The tab key reaches one of them; from there arrows go up and down, left and
 * right close and open, with Alt they move the track, and `p` pins it.
 */
import { useRef, useState, type KeyboardEvent, type RefObject } from "react";

import type { Layout, Row } from "./layout";
import type { Stage } from "./stage";
import { GroupHeader, TrackHeader } from "./TrackHeader";
import { rowKey, type Arranging } from "./useArranging";
import { useHeaderDrag } from "./useHeaderDrag";
import { useStage } from "./useStage";

interface Props {
  readonly stage: Stage | null;
  readonly layout: Layout;
  readonly arranging: Arranging;
  /** The scrolled element; the stage moves it. */
  readonly headersRef: RefObject<HTMLDivElement | null>;
}

export function TrackHeaders({ stage, layout, arranging, headersRef }: Props) {
  const view = useRef<HTMLDivElement>(null);
  const [current, setCurrent] = useState("");
  const drag = useHeaderDrag(stage, view, arranging);
  const [first] = layout.rows;
  const isVisible = layout.rows.some((row) => rowKey(row) === current);
  const reached = isVisible ? current : first === undefined ? "" : rowKey(first);
  const focusOn = (row: Row) => {
    stage?.scrollRowIntoSight(row);
    const focus = () => controlOf(view.current, rowKey(row))?.focus({ preventScroll: true });
    if (controlOf(view.current, rowKey(row)) !== null) focus();
    // A header far away is in the document only after the scroll.
    else requestAnimationFrame(focus);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const key = keyAt(event.target);
    const index = layout.rows.findIndex((row) => rowKey(row) === key);
    const row = layout.rows[index];
    if (row === undefined || event.ctrlKey || event.metaKey) return;
    const handled = onHeaderKey(event, row, arranging, (to) => {
      const next = layout.rows[to === "first" ? 0 : to === "last" ? layout.rows.length - 1 : index + to];
      if (next !== undefined) focusOn(next);
    });
    if (handled) event.preventDefault();
  };
  const headerOf = (row: Row) => {
    const shared = { isCurrent: rowKey(row) === reached, arranging };
    return row.kind === "group" ? <GroupHeader key={rowKey(row)} row={row} {...shared} /> : <TrackHeader key={rowKey(row)} row={row} {...shared} />;
  };
  return (
    <div
      ref={view}
      className="tl-heads-view"
      role="group"
      aria-label="Tracks: up and down go to the previous and next, left and right close and open, Alt with arrows moves, p pins"
      onKeyDown={onKeyDown}
      onFocus={({ target }) => setCurrent(keyAt(target) ?? "")}
      {...drag.handlers}
    >
      <Scrolled stage={stage} layout={layout} headersRef={headersRef} headerOf={headerOf} line={drag.line} />
    </div>
  );
}

interface ScrolledProps {
  readonly stage: Stage | null;
  readonly layout: Layout;
  readonly headersRef: RefObject<HTMLDivElement | null>;
  readonly headerOf: (row: Row) => React.ReactNode;
  /** Where the dragged row would be dropped, in px from the top of all tracks. */
  readonly line: number | null;
}

/** The headers that scroll, and over them the sticky ones. */
function Scrolled({ stage, layout, headersRef, headerOf, line }: ScrolledProps) {
  const stickyPx = useSticky(stage);
  const isNear = useNearRows(stage, layout);
  const mark = line === null ? null : <i className="tl-drop" style={{ top: line - 1 }} />;
  const isSticky = ({ topPx }: Row) => topPx < stickyPx;
  return (
    <>
      <div ref={headersRef}>
        {layout.rows.filter((row) => !isSticky(row) && isNear(row)).map(headerOf)}
        {(stickyPx === 0 || (line ?? 0) > stickyPx) && mark}
      </div>
      {stickyPx > 0 && (
        <div className="tl-heads-sticky" style={{ height: stickyPx }}>
          {layout.rows.filter(isSticky).map(headerOf)}
          {(line ?? 0) <= stickyPx && mark}
        </div>
      )}
    </>
  );
}

/** With more rows only the headers near the screen are in the document. */
const MANY_ROWS = 200;
/** Headers come and go when this much was scrolled. */
const BLOCK_PX = 600;

function useNearRows(stage: Stage | null, layout: Layout): (row: Row) => boolean {
  const block = useStage(stage, (now) => (now === null ? 0 : Math.floor(now.scrollPx / BLOCK_PX)));
  const viewHeightPx = useStage(stage, (now) => now?.viewHeightPx ?? 0);
  if (layout.rows.length <= MANY_ROWS) return () => true;
  const [topPx, bottomPx] = [(block - 1) * BLOCK_PX, (block + 2) * BLOCK_PX + viewHeightPx];
  return (row) => row.topPx + row.heightPx > topPx && row.topPx < bottomPx;
}

function useSticky(stage: Stage | null): number {
  return useStage(stage, (now) => now?.stickyPx ?? 0);
}

function keyAt(target: EventTarget): string | undefined {
  return target instanceof HTMLElement ? target.closest<HTMLElement>("[data-row]")?.dataset["row"] : undefined;
}

function controlOf(view: HTMLElement | null, key: string): HTMLButtonElement | null {
  return view?.querySelector<HTMLButtonElement>(`[data-row="${CSS.escape(key)}"] button`) ?? null;
}

/** Returns whether the key was handled. */
function onHeaderKey({ key, altKey }: KeyboardEvent, row: Row, arranging: Arranging, go: (to: 1 | -1 | "first" | "last") => void): boolean {
  const commands: Readonly<Record<string, () => void>> = altKey
    ? { ArrowUp: () => arranging.onStep(row, -1), ArrowDown: () => arranging.onStep(row, 1) }
    : {
        ArrowUp: () => go(-1),
        ArrowDown: () => go(1),
        Home: () => go("first"),
        End: () => go("last"),
        ArrowLeft: () => arranging.onFold(rowKey(row), false),
        ArrowRight: () => arranging.onFold(rowKey(row), true),
        p: () => {
          if (row.kind === "track") arranging.onPin(row.track.key);
        },
      };
  const command = commands[key];
  command?.();
  return command !== undefined;
}
