/**
 * Which part of the time axis is on screen, and how it moves. Pure arithmetic: every function takes
 * a viewport and returns another one.
 *
 * Times are nanoseconds since the first event of the trace, so that they stay exact in a double.
 */
export interface Viewport {
  readonly startNs: number;
  readonly endNs: number;
}

/** A part of time, whatever is on screen. */
export interface TimeRange {
  readonly startNs: number;
  readonly endNs: number;
}

/** The smallest span: clocks of traces count whole nanoseconds. */
export const MIN_SPAN_NS = 40;
/** How far the viewport can go past both ends of the trace, as a share of the screen. */
const OVERSHOOT = 0.1;
/** Room left and right of what is brought into sight. */
const FIT_MARGIN = 0.08;

export function spanNs({ startNs, endNs }: Viewport): number {
  return endNs - startNs;
}

/** The viewport that shows all of a trace; an empty or instant trace gets a little room. */
export function wholeTrace(durationNs: number): Viewport {
  const room = Math.max(durationNs * 0.01, MIN_SPAN_NS / 2);
  return { startNs: -room, endNs: durationNs + room };
}

/** Limits the viewport to the trace and to sensible spans. */
export function clampViewport(viewport: Viewport, durationNs: number): Viewport {
  const whole = wholeTrace(durationNs);
  const widest = spanNs(whole);
  const span = Math.min(Math.max(spanNs(viewport), MIN_SPAN_NS), widest);
  const centre = (viewport.startNs + viewport.endNs) / 2;
  const lowest = whole.startNs - (span < widest ? span * OVERSHOOT : 0);
  const highest = whole.endNs + (span < widest ? span * OVERSHOOT : 0) - span;
  const startNs = Math.min(Math.max(centre - span / 2, lowest), highest);
  return { startNs, endNs: startNs + span };
}

/**
 * Zooms so that the moment under the pointer stays under it.
 *
 * @param factor Below 1 zooms in.
 * @param at Where the pointer is, 0 (left edge) to 1 (right edge).
 */
export function zoomAt(viewport: Viewport, factor: number, at: number, durationNs: number): Viewport {
  const span = spanNs(viewport);
  const widest = spanNs(wholeTrace(durationNs));
  const next = Math.min(Math.max(span * factor, MIN_SPAN_NS), widest);
  const anchor = viewport.startNs + at * span;
  const startNs = anchor - at * next;
  return clampViewport({ startNs, endNs: startNs + next }, durationNs);
}

/** @param screens How far to the right, in widths of the screen. */
export function panBy(viewport: Viewport, screens: number, durationNs: number): Viewport {
  const shift = screens * spanNs(viewport);
  return clampViewport({ startNs: viewport.startNs + shift, endNs: viewport.endNs + shift }, durationNs);
}

/** The range, with a little room around. */
export function fitRange(startNs: number, endNs: number, durationNs: number): Viewport {
  const room = Math.max((endNs - startNs) * FIT_MARGIN, MIN_SPAN_NS / 4);
  return clampViewport({ startNs: startNs - room, endNs: endNs + room }, durationNs);
}

/** The same zoom, moved as little as brings the range into sight; unchanged where it is in sight. */
export function reveal(viewport: Viewport, startNs: number, endNs: number, durationNs: number): Viewport {
  const span = spanNs(viewport);
  if (endNs - startNs > span) return fitRange(startNs, endNs, durationNs);
  if (startNs >= viewport.startNs && endNs <= viewport.endNs) return viewport;
  const centre = (startNs + endNs) / 2;
  return clampViewport({ startNs: centre - span / 2, endNs: centre + span / 2 }, durationNs);
}

export function pxOf(viewport: Viewport, timeNs: number, widthPx: number): number {
  return ((timeNs - viewport.startNs) / spanNs(viewport)) * widthPx;
}

export function timeAt(viewport: Viewport, px: number, widthPx: number): number {
  return viewport.startNs + (px / Math.max(1, widthPx)) * spanNs(viewport);
}

/** Between two viewports, for a movement the eye can follow: zoom is even in its logarithm. */
export function between(from: Viewport, to: Viewport, progress: number): Viewport {
  if (progress >= 1) return to;
  const spanFrom = spanNs(from);
  const spanTo = spanNs(to);
  const span = spanFrom * (spanTo / spanFrom) ** progress;
  // With an even zoom the centre has to move with the span, else the target swings out of sight.
  const moved = spanFrom === spanTo ? progress : (spanFrom - span) / (spanFrom - spanTo);
  const centreFrom = (from.startNs + from.endNs) / 2;
  const centreTo = (to.startNs + to.endNs) / 2;
  const centre = centreFrom + (centreTo - centreFrom) * moved;
  return { startNs: centre - span / 2, endNs: centre + span / 2 };
}
