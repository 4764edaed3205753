/** Widths and heights that the reader dragged, remembered in the browser. */
import { useCallback, useState } from "react";

export interface Size {
  readonly key: string;
  readonly minPx: number;
  readonly maxPx: number;
}

export const NAMES_WIDTH: Size = { key: "torch-tb-profiler.timeline.names", minPx: 120, maxPx: 640 };
export const PANEL_HEIGHT: Size = { key: "torch-tb-profiler.timeline.panel", minPx: 100, maxPx: 1200 };

export function clampSize(px: number, { minPx, maxPx }: Size): number {
  return Math.round(Math.min(Math.max(px, minPx), maxPx));
}

function storedSize(size: Size): number | null {
  try {
    const text = localStorage.getItem(size.key);
    return text !== null && /^\d{1,4}$/.test(text) ? clampSize(Number(text), size) : null;
  } catch {
    return null; // storage can be forbidden inside a frame
  }
}

/** The size in pixels, null as long as the page decides, and what sets it. */
export function useSize(size: Size): readonly [number | null, (px: number | null) => void] {
  const [px, setPx] = useState(() => storedSize(size));
  const set = useCallback(
    (next: number | null) => {
      const clamped = next === null ? null : clampSize(next, size);
      setPx(clamped);
      try {
        if (clamped === null) localStorage.removeItem(size.key);
        else localStorage.setItem(size.key, String(clamped));
      } catch {
        // not remembered, but in force
      }
    },
    [size],
  );
  return [px, set];
}
