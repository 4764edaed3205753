/** Mouse, touch and wheel on the drawing surface, as movements of the stage and choices of the reader. */
import { HEAD_PX, MINIMAP_PX, type Hover } from "./scene";
import type { Stage } from "./stage";
import { spanNs, type TimeRange } from "./viewport";

export type DragMode = "range" | "pan";

export interface GestureEvents {
  /** A click on a box, or outside any. */
  readonly onPick: (hit: Hover | null) => void;
  /** A second click at the same position, on a box or outside any. */
  readonly onZoom: (hit: Hover | null) => void;
  /** While and after a range is dragged; `over` are the tracks the drag went over, that it began on first; null on the ruler. */
  readonly onRange: (range: TimeRange, done: boolean, over: readonly string[] | null) => void;
  readonly dragMode: () => DragMode;
}

/** A pointer that moves less clicks. */
const CLICK_PX = 4;
const WHEEL_ZOOM = 0.0025;
/** Pinching on a touchpad arrives as small wheel movements. */
const PINCH_ZOOM = 0.012;
const PINCH_BELOW = 40;
const LINE_PX = 18;

type Drag =
  | { readonly kind: "range"; readonly fromNs: number; readonly fromPx: number | null }
  | { readonly kind: "pan" }
  | { readonly kind: "minimap" };

interface Touch {
  x: number;
  y: number;
}

/** Starts listening; returns what stops it. */
export function listenToGestures(area: HTMLElement, stage: Stage, events: GestureEvents): () => void {
  const surface = stage.surface;
  const pointers = new Map<number, Touch>();
  let drag: Drag | null = null;
  let start: Touch = { x: 0, y: 0 };
  let isClick = false;
  /** What was on screen at the first of two clicks. */
  let shown = stage.destination;

  const positionOf = (event: MouseEvent): Touch => {
    const box = surface.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  const onDown = (event: PointerEvent) => {
    if (event.button > 1) return;
    const position = positionOf(event);
    pointers.set(event.pointerId, position);
    surface.setPointerCapture(event.pointerId);
    start = position;
    isClick = pointers.size === 1 && event.button === 0;
    drag = dragFor(event, position, stage, events.dragMode());
    stage.leave();
    if (drag.kind === "minimap") centreAt(stage, position.x);
    if (event.button === 1) event.preventDefault();
  };

  const onMove = (event: PointerEvent) => {
    const position = positionOf(event);
    const before = pointers.get(event.pointerId);
    if (before === undefined) { stage.pointAt(position.x, position.y); return; }
    if (pointers.size === 2) {
      pinch(stage, pointers, event.pointerId, position);
      isClick = false;
    } else if (!isClick || Math.hypot(position.x - start.x, position.y - start.y) > CLICK_PX) {
      isClick = false;
      if (drag !== null) move(stage, drag, before, position, events, false);
    }
    pointers.set(event.pointerId, position);
  };

  const onUp = (event: PointerEvent) => {
    const position = positionOf(event);
    if (!pointers.delete(event.pointerId) || drag === null) return;
    isClick &&= drag.kind !== "minimap" && position.y >= HEAD_PX;
    if (!isClick && drag.kind === "range") move(stage, drag, position, position, events, true);
    if (pointers.size === 0) drag = null;
    if (event.pointerType === "mouse") stage.pointAt(position.x, position.y);
  };

  const onClick = (event: MouseEvent) => {
    if (!isClick) return;
    const position = positionOf(event);
    if (event.detail <= 1) {
      shown = stage.destination;
      events.onPick(stage.hit(position.x, position.y));
      // The first click zoomed: the pointer is over another time now, so this is no double click.
    } else if (event.detail === 2 && stage.destination === shown) events.onZoom(stage.hit(position.x, position.y));
  };

  const onWheel = (event: WheelEvent) => {
    event.preventDefault();
    if (event.target === surface && pointers.size === 0) stage.pointAt(event.offsetX, event.offsetY);
    const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE_PX : 1;
    const [dx, dy] = [event.deltaX * unit, event.deltaY * unit];
    if (event.ctrlKey || event.metaKey) {
      stage.zoom(Math.exp(dy * (Math.abs(dy) < PINCH_BELOW ? PINCH_ZOOM : WHEEL_ZOOM)), positionOf(event).x);
    } else if (event.shiftKey) stage.pan(dx + dy);
    else if (Math.abs(dx) > Math.abs(dy)) stage.pan(dx);
    else stage.scrollTo(stage.scrollPx + dy);
  };

  const onLeave = () => stage.leave();
  surface.addEventListener("pointerdown", onDown);
  surface.addEventListener("pointermove", onMove);
  surface.addEventListener("pointerup", onUp);
  surface.addEventListener("click", onClick);
  surface.addEventListener("pointercancel", onUp);
  surface.addEventListener("pointerleave", onLeave);
  area.addEventListener("wheel", onWheel, { passive: false });
  return () => {
    surface.removeEventListener("pointerdown", onDown);
    surface.removeEventListener("pointermove", onMove);
    surface.removeEventListener("pointerup", onUp);
    surface.removeEventListener("click", onClick);
    surface.removeEventListener("pointercancel", onUp);
    surface.removeEventListener("pointerleave", onLeave);
    area.removeEventListener("wheel", onWheel);
  };
}

function dragFor(event: PointerEvent, { x, y }: Touch, stage: Stage, mode: DragMode): Drag {
  if (y < MINIMAP_PX) return { kind: "minimap" };
  const onRuler = y < HEAD_PX;
  const pans = event.pointerType === "touch" || event.shiftKey || event.button === 1 || mode === "pan";
  return pans && !onRuler ? { kind: "pan" } : { kind: "range", fromNs: stage.timeAtPx(x), fromPx: onRuler ? null : y };
}

/** Rows are higher than that. */
const ROW_STEP_PX = 8;

/** The tracks from one height to another, in that order. */
function tracksBetween(stage: Stage, fromPx: number, toPx: number): string[] {
  const keys = new Set<string>();
  const steps = Math.ceil(Math.abs(toPx - fromPx) / ROW_STEP_PX);
  for (let step = 0; step <= steps; step++) {
    const row = stage.rowAtPx(steps === 0 ? fromPx : fromPx + ((toPx - fromPx) * step) / steps);
    if (row?.kind === "track") keys.add(row.track.key);
  }
  return [...keys];
}

function move(stage: Stage, drag: Drag, before: Touch, now: Touch, events: GestureEvents, done: boolean): void {
  if (drag.kind === "minimap") { centreAt(stage, now.x); return; }
  if (drag.kind === "pan") {
    stage.pan(before.x - now.x);
    stage.scrollTo(stage.scrollPx + before.y - now.y);
    return;
  }
  const atNs = stage.timeAtPx(Math.min(Math.max(0, now.x), stage.width));
  events.onRange(rangeBetween(drag.fromNs, atNs, stage.durationNs), done, drag.fromPx === null ? null : tracksBetween(stage, drag.fromPx, Math.min(Math.max(HEAD_PX, now.y), stage.height)));
}

/** Whole nanoseconds inside the trace, in order. */
export function rangeBetween(oneNs: number, otherNs: number, durationNs: number): TimeRange {
  const inside = (timeNs: number) => Math.min(Math.max(0, Math.round(timeNs)), durationNs);
  return { startNs: inside(Math.min(oneNs, otherNs)), endNs: inside(Math.max(oneNs, otherNs)) };
}

function centreAt(stage: Stage, xPx: number): void {
  const centre = (xPx / stage.width) * stage.durationNs;
  const half = spanNs(stage.viewport) / 2;
  stage.show({ startNs: centre - half, endNs: centre + half });
}

/** Two fingers: the moments under them stay under them. */
function pinch(stage: Stage, pointers: ReadonlyMap<number, Touch>, moved: number, now: Touch): void {
  const before = pointers.get(moved);
  const other = [...pointers].find(([id]) => id !== moved)?.[1];
  if (before === undefined || other === undefined) return;
  const from = Math.max(10, Math.abs(before.x - other.x));
  const to = Math.max(10, Math.abs(now.x - other.x));
  stage.zoom(from / to, other.x);
  stage.scrollTo(stage.scrollPx + (before.y - now.y) / 2);
}
