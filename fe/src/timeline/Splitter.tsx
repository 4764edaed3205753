/** The line between two parts of the page, dragged or moved by arrow keys; a double click resets it. */
import { useRef, type KeyboardEvent, type PointerEvent } from "react";

import type { Size } from "./sizes";

interface Props {
  readonly label: string;
  /** Direction of the line. */
  readonly orientation: "vertical" | "horizontal";
  /** Size of the part before it (vertical) or after it (horizontal). */
  readonly px: number;
  readonly size: Size;
  readonly onResize: (px: number | null) => void;
}

const STEP_PX = 16;
const LONG_STEP_PX = 80;

export function Splitter({ label, orientation, px, size, onResize }: Props) {
  const from = useRef<{ readonly at: number; readonly px: number } | null>(null);
  const isVertical = orientation === "vertical";
  const coordinateOf = (event: PointerEvent) => (isVertical ? event.clientX : -event.clientY);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.shiftKey ? LONG_STEP_PX : STEP_PX;
    const [more, less] = isVertical ? ["ArrowRight", "ArrowLeft"] : ["ArrowUp", "ArrowDown"];
    const next = event.key === more ? px + step : event.key === less ? px - step : event.key === "Home" ? size.minPx : event.key === "End" ? size.maxPx : null;
    if (next === null) return;
    event.preventDefault();
    onResize(next);
  };
  return (
    <div
      className={`tl-splitter ${orientation}`}
      role="separator"
      aria-label={label}
      aria-orientation={orientation}
      aria-valuenow={Math.round(px)}
      aria-valuemin={size.minPx}
      aria-valuemax={size.maxPx}
      tabIndex={0}
      title={`${label}: drag or use arrow keys; double-click to reset`}
      onKeyDown={onKeyDown}
      onDoubleClick={() => onResize(null)}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        from.current = { at: coordinateOf(event), px };
      }}
      onPointerMove={(event) => {
        if (from.current !== null) onResize(from.current.px + coordinateOf(event) - from.current.at);
      }}
      onPointerUp={() => (from.current = null)}
      onPointerCancel={() => (from.current = null)}
    />
  );
}
