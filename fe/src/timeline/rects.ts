/**
 * Rectangles of one track, ready to be drawn: what the WebGL and the 2D renderer share.
 *
 * Places are relative: x as a share of the tile (0 its start, 1 its end), y in pixels below the top
 * of the track. So a pan or a zoom changes a few uniforms and no buffer.
 */
export interface RectBatch {
  readonly count: number;
  /** Per rectangle x0, x1, y0, y1. */
  readonly coordinates: Float32Array;
  /** Per rectangle red, green, blue, busy share: below 255 for merged blocks. */
  paints: Uint8Array;
  /** Per rectangle 1 where it is highlighted while others are dimmed; null without a search. */
  marks: Uint8Array | null;
  /** Counts changes of `paints` and `marks`, so that a renderer knows when to send them again. */
  version: number;
}

export interface RectDraw {
  readonly batch: RectBatch;
  /** Pixel of a time: x × scale + offset. */
  readonly scalePx: number;
  readonly offsetPx: number;
  readonly topPx: number;
  /** Only what lies in here is drawn: other tiles fill the rest of the track. */
  readonly clip: Clip;
}

export interface Clip {
  readonly leftPx: number;
  readonly rightPx: number;
  readonly topPx: number;
  readonly bottomPx: number;
}

export type Rgb = readonly [number, number, number];

export interface RectRenderer {
  /** Sizes in CSS pixels; `ratio` device pixels each. */
  begin: (widthPx: number, heightPx: number, ratio: number, background: Rgb) => void;
  draw: (call: RectDraw) => void;
  /** A line from top to bottom, below what is drawn after it. */
  line: (xPx: number, color: Rgb) => void;
  /** Forgets what it holds for a batch. */
  release: (batch: RectBatch) => void;
  dispose: () => void;
}

/** Narrower rectangles would not be visible. */
export const MIN_WIDTH_PX = 1;
/** Neighbouring slices wider than this are separated by a gap of one pixel. */
export const GAP_FROM_PX = 4;
/** Share of its colour that the idle part of a merged block retains. */
export const IDLE_TINT = 0.3;
/** Share of its colour that a dimmed rectangle retains. */
export const DIMMED = 0.22;
