/** All that one frame is drawn from. */
import type { TimelineFlowPayload, TimelineSlicePayload } from "../generated/schema";
import type { NameMode } from "../lib/names";
import type { Palette } from "./colors";
import type { Iterations } from "./iterationMarks";
import { laneTopPx, type Layout, type Row, type TrackRow } from "./layout";
import type { Note } from "./notes";
import type { TrackTile, TrackTiles } from "./tile";
import { pxOf, spanNs, type TimeRange, type Viewport } from "./viewport";

/** The overview of the whole trace, and below it the ruler. */
export const MINIMAP_PX = 14;
export const RULER_PX = 24;
export const HEAD_PX = MINIMAP_PX + RULER_PX;

/** A box under the pointer. */
export interface Hover {
  readonly row: TrackRow;
  readonly lane: number;
  readonly tile: TrackTile;
  /** Null over a counter. */
  readonly box: number | null;
  readonly timeNs: number;
}

export interface Scene {
  readonly viewport: Viewport;
  readonly durationNs: number;
  /** Of the tracks, without their headers at the left. */
  readonly widthPx: number;
  /** With the ruler. */
  readonly heightPx: number;
  readonly scrollPx: number;
  /** How much of the tracks stays on top, however far the others are scrolled. */
  readonly stickyPx: number;
  readonly layout: Layout;
  /** The rows on screen. */
  readonly rows: readonly TrackRow[];
  readonly tilesOf: (track: number) => TrackTiles;
  readonly palette: Palette;
  /** By which of their names kernels are labelled. */
  readonly names: NameMode;
  readonly selected: TimelineSlicePayload | null;
  readonly flows: readonly TimelineFlowPayload[];
  readonly hits: readonly TimelineSlicePayload[];
  /** The critical path, where it is shown. */
  readonly path: readonly TimelineSlicePayload[];
  readonly hover: Hover | null;
  /** Chosen by dragging. */
  readonly range: TimeRange | null;
  /** Keys of the tracks that the range sums up; null for all. */
  readonly over: ReadonlySet<string> | null;
  /** The frame's selection, which every view follows: stretches in order. */
  readonly selection: readonly TimeRange[] | null;
  /** In order of time. */
  readonly notes: readonly Note[];
  /** The iterations chosen instead of the trace's own steps. */
  readonly iterations: Iterations | null;
}

/** A tile and the part of the screen it fills. */
export interface Piece {
  readonly tile: TrackTile;
  readonly leftPx: number;
  readonly rightPx: number;
}

/** The finest tile as far as it reaches, left and right of it the next one, and so on. */
export function piecesOf({ sharp, fine, whole }: TrackTiles, viewport: Viewport, widthPx: number): Piece[] {
  const pieces: Piece[] = [];
  const fill = (leftPx: number, rightPx: number, tiles: readonly TrackTile[]) => {
    const [tile, ...rest] = tiles;
    if (tile === undefined || rightPx <= leftPx) return;
    const from = Math.min(Math.max(leftPx, pxOf(viewport, tile.startNs, widthPx)), rightPx);
    const to = Math.min(Math.max(from, pxOf(viewport, tile.endNs, widthPx)), rightPx);
    if (to > from) pieces.push({ tile, leftPx: from, rightPx: to });
    fill(leftPx, from, rest);
    fill(to, rightPx, rest);
  };
  fill(0, widthPx, [...new Set([sharp, fine, whole])].filter((tile) => tile !== null));
  return pieces;
}

/** Top of a row on the screen, below the ruler's upper edge. */
export function rowTopPx(scene: Pick<Scene, "scrollPx" | "stickyPx">, row: Pick<Row, "topPx">): number {
  return HEAD_PX + row.topPx - (row.topPx < scene.stickyPx ? 0 : scene.scrollPx);
}

/** Where a slice is drawn, also when it is off screen; null when its track is folded away. */
export function sliceRect(scene: Scene, slice: TimelineSlicePayload): { left: number; right: number; top: number; height: number } | null {
  const row = scene.layout.rowOf.get(slice.track);
  if (row === undefined) return null;
  const lane = Math.min(slice.lane, Math.max(0, row.lanes - 1));
  const left = pxOf(scene.viewport, slice.start_ns, scene.widthPx);
  const right = Math.max(pxOf(scene.viewport, slice.start_ns + slice.dur_ns, scene.widthPx), left + 1);
  return { left, right, top: rowTopPx(scene, row) + laneTopPx(row, lane), height: row.lanePx - 1 };
}

export function pixelNs(scene: Scene): number {
  return spanNs(scene.viewport) / Math.max(1, scene.widthPx);
}
