/**
 * Which range is requested when a viewport is shown: wider than the screen, so that a pan finds its
 * neighbourhood loaded already, and on a coarse grid, so that going back requests the same address and the
 * browser's cache answers.
 */
import { spanNs, type Viewport } from "./viewport";

export interface Window {
  readonly startNs: number;
  readonly endNs: number;
  readonly widthPx: number;
}

/** Exactly what is on screen: the last word where a window was too much for one answer. */
export function exactWindow({ startNs, endNs }: Viewport, widthPx: number): Window {
  return { startNs: Math.floor(startNs), endNs: Math.ceil(endNs), widthPx: Math.min(MAX_WIDTH_PX, widthPx) };
}

/** Widths of windows grow by this factor from level to level. */
const LEVEL = Math.SQRT2;
/** Parts of a level by which windows start. */
const GRID = 4;
/** The most the server takes. */
const MAX_WIDTH_PX = 4000;
/** The canvas changes its width with every drag of a window's edge: rounded up to this. */
const WIDTH_STEP_PX = 256;

export function windowFor(viewport: Viewport, widthPx: number): Window {
  const level = LEVEL ** Math.ceil(Math.log(spanNs(viewport)) / Math.log(LEVEL) - 1e-9);
  const grid = level / GRID;
  const centre = (viewport.startNs + viewport.endNs) / 2;
  const startNs = Math.round((centre - level) / grid) * grid;
  const rounded = Math.ceil(widthPx / WIDTH_STEP_PX) * WIDTH_STEP_PX;
  return {
    startNs: Math.round(startNs),
    endNs: Math.round(startNs + 2 * level),
    widthPx: Math.min(MAX_WIDTH_PX, 2 * rounded),
  };
}

/** Whether all that is on screen lies inside the window. */
export function covers({ startNs, endNs }: Viewport, viewport: Viewport, durationNs: number): boolean {
  return startNs <= Math.max(viewport.startNs, 0) && endNs >= Math.min(viewport.endNs, durationNs);
}
