/** Dragging the name of a track or group to another position. */
import { useEffect, useRef, useState, type PointerEvent, type RefObject } from "react";

import type { Row } from "./layout";
import { HEAD_PX } from "./scene";
import type { Stage } from "./stage";
import { areSiblings, rowKey, type Arranging } from "./useArranging";

interface Dragged {
  readonly row: Row;
  readonly fromY: number;
  isMoving: boolean;
  target: Row | null;
  isAfter: boolean;
}

/** A pointer that moves less clicks. */
const CLICK_PX = 5;
/** So near to an edge the others scroll by. */
const EDGE_PX = 18;

export function useHeaderDrag(stage: Stage | null, view: RefObject<HTMLDivElement | null>, arranging: Arranging) {
  const dragged = useRef<Dragged | null>(null);
  const [line, setLine] = useState<number | null>(null);
  const end = () => {
    dragged.current = null;
    setLine(null);
  };
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key === "Escape") end();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
  const yOf = (event: PointerEvent) => event.clientY - (view.current?.getBoundingClientRect().top ?? 0);
  const handlers = {
    onPointerDown: (event: PointerEvent) => {
      const isPin = event.target instanceof Element && event.target.closest(".tl-pin") !== null;
      const row = stage?.rowAtPx(yOf(event) + HEAD_PX) ?? null;
      if (event.button !== 0 || isPin || row === null) return;
      dragged.current = { row, fromY: yOf(event), isMoving: false, target: null, isAfter: false };
    },
    onPointerMove: (event: PointerEvent) => {
      const drag = dragged.current;
      if (drag === null || stage === null) return;
      const y = yOf(event);
      if (!drag.isMoving && Math.abs(y - drag.fromY) <= CLICK_PX) return;
      if (!drag.isMoving) view.current?.setPointerCapture(event.pointerId);
      drag.isMoving = true;
      if (y < stage.stickyPx + EDGE_PX) stage.scrollTo(stage.scrollPx - EDGE_PX);
      else if (y > stage.viewHeightPx - EDGE_PX) stage.scrollTo(stage.scrollPx + EDGE_PX);
      const under = stage.rowAtPx(Math.min(Math.max(0, y), stage.viewHeightPx - 1) + HEAD_PX);
      const isTarget = under !== null && rowKey(under) !== rowKey(drag.row) && areSiblings(drag.row, under);
      drag.target = isTarget ? under : null;
      drag.isAfter = isTarget && drag.row.topPx < under.topPx;
      setLine(isTarget ? under.topPx + (drag.isAfter ? under.heightPx : 0) : null);
    },
    onPointerUp: () => {
      const drag = dragged.current;
      if (drag?.target != null) arranging.onMove(drag.row, drag.target, drag.isAfter);
      end();
    },
    onPointerCancel: end,
  };
  return { line, handlers };
}
