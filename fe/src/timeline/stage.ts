/**
 * The drawing surface: holds what is on screen, draws it when something changed, and requests tiles.
 * It lives outside React, so that a frame of a pan costs only the drawing.
 */
import type { TimelineFlowPayload, TimelineSlicePayload } from "../generated/schema";
import type { NameMode } from "../lib/names";
import { createRectSurface, pixelRatio, setSize, type RendererChoice } from "./canvases";
import { readPalette, type ColorMode, type Palette } from "./colors";
import { drawBoxes } from "./drawBoxes";
import { boxAt } from "./hit";
import type { Iterations } from "./iterationMarks";
import type { Motion } from "./keys";
import { LABEL_FONT, Labels } from "./labels";
import { DEFAULT_FOLDING, GROUP_PX, laneAt, layOut, rowAt, stickyOf, visibleLanes, visibleTracks, type LaneRange, type Layout, type Row, type TrackRow } from "./layout";
import { NO_MATCHES, type StackMatches } from "./matches";
import { Mover, stepped, STEP_S } from "./mover";
import { drawOverlay } from "./overlay";
import type { Note } from "./notes";
import { paintTile, type Paints } from "./paint";
import type { RectRenderer } from "./rects";
import { HEAD_PX, piecesOf, rowTopPx, type Hover, type Scene } from "./scene";
import type { Stack, StackPart } from "./stack";
import { StackTiles, unseenSteps } from "./tiles";
import { clampViewport, panBy, pxOf, spanNs, timeAt, wholeTrace, zoomAt, type Viewport, type TimeRange } from "./viewport";
import { webglRenderer } from "./webgl";
import { ZoomHistory } from "./zoomHistory";

export interface StageEvents {
  /** Anything React shows may have changed: viewport, hover, loading, failure. */
  readonly onChange: (stage: Stage) => void;
}

/** What decides the picture, apart from the viewport. */
export interface StageInputs {
  readonly layout: Layout;
  readonly mode: ColorMode;
  readonly names: NameMode;
  /** What a search highlights while the rest is dimmed; null without a search. */
  readonly matches: StackMatches | null;
  readonly hits: readonly TimelineSlicePayload[];
  readonly path: readonly TimelineSlicePayload[];
  readonly selected: TimelineSlicePayload | null;
  readonly flows: readonly TimelineFlowPayload[];
  readonly range: TimeRange | null;
  /** Keys of the tracks that the range sums up; null for all. */
  readonly over: ReadonlySet<string> | null;
  readonly selection: readonly TimeRange[] | null;
  readonly iterations: Iterations | null;
  /** In order of time. */
  readonly notes: readonly Note[];
}

const NO_INPUTS: Omit<StageInputs, "layout"> = {
  mode: "category",
  names: "short",
  matches: null,
  hits: [],
  path: [],
  selected: null,
  flows: [],
  range: null,
  over: null,
  selection: null,
  iterations: null,
  notes: [],
};

/** Tiles are requested for this much above and below the screen too. */
const PREFETCH_PX = 90;
/** Without movement for so long, the viewport is at rest. */
const REST_MS = 160;
export class Stage {
  viewport: Viewport;
  layout: Layout;
  scrollPx = 0;
  /** How much at the top does not scroll. */
  stickyPx = 0;
  hover: Hover | null = null;
  readonly durationNs: number;
  readonly loader: StackTiles;
  readonly zooms = new ZoomHistory();

  private inputs: StageInputs;
  private palette: Palette = readPalette();
  private widthPx = 1;
  private heightPx = 1;
  private renderer: RectRenderer;
  private readonly rectCanvas: HTMLCanvasElement;
  private readonly overlay = document.createElement("canvas");
  private readonly labels: Labels;
  private frame = 0;
  private readonly mover = new Mover();
  /** Where the pointer rests, also while what is under it moves. */
  private pointer: { readonly x: number; readonly y: number } | null = null;
  private resting = false;
  private rest: ReturnType<typeof setTimeout> | undefined;
  private readonly reducedMotion = window.matchMedia("(prefers-reduced-motion: reduce)");

  /**
   * @param host Gets the canvases; its size is theirs.
   * @param headers The headers at the left, moved along when scrolled.
   */
  constructor(
    private readonly host: HTMLElement,
    private readonly headers: HTMLElement,
    readonly stack: Stack,
    private readonly events: StageEvents,
    choice: RendererChoice,
  ) {
    this.durationNs = stack.endNs;
    this.viewport = wholeTrace(this.durationNs);
    this.layout = layOut(stack.groups, stack.tracks, DEFAULT_FOLDING);
    this.inputs = { ...NO_INPUTS, layout: this.layout };
    this.loader = new StackTiles(stack, {
      onTile: (tile, part) => paintTile(tile, this.paints(part)),
      onRelease: (batch) => this.renderer.release(batch),
      onChange: () => {
        this.invalidate();
        events.onChange(this);
      },
    });
    const surface = createRectSurface(choice);
    this.rectCanvas = surface.canvas;
    this.renderer = surface.renderer;
    this.host.append(this.rectCanvas, this.overlay);
    const context = this.overlay.getContext("2d");
    this.labels = new Labels((text) => {
      if (context === null) return text.length * 6;
      context.font = LABEL_FONT;
      return context.measureText(text).width;
    });
    this.rectCanvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    this.rectCanvas.addEventListener("webglcontextrestored", () => {
      this.renderer = webglRenderer(this.rectCanvas, true) ?? this.renderer;
      this.invalidate();
    });
    this.resize();
  }

  dispose(): void {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.rest);
    this.loader.close();
    this.renderer.dispose();
    this.rectCanvas.remove();
    this.overlay.remove();
  }

  get surface(): HTMLCanvasElement {
    return this.overlay;
  }

  get width(): number {
    return this.widthPx;
  }

  get height(): number {
    return this.heightPx;
  }

  /** Room for tracks, without the ruler. */
  get viewHeightPx(): number {
    return Math.max(0, this.heightPx - HEAD_PX);
  }

  update(inputs: StageInputs): void {
    const before = this.inputs;
    this.inputs = inputs;
    if (before.layout !== inputs.layout) {
      const { selected } = inputs;
      const wasHidden = selected !== null && !this.layout.rowOf.has(selected.track);
      this.layout = inputs.layout;
      this.scrollTo(this.scrollPx);
      if (wasHidden) this.scrollIntoSight(selected.track, selected.lane);
    }
    if (before.mode !== inputs.mode || before.matches !== inputs.matches) this.repaint();
    this.invalidate();
  }

  /** Reads the colours again, as after a change of theme. */
  retheme(): void {
    this.palette = readPalette();
    this.repaint();
    this.invalidate();
  }

  resize(): void {
    this.widthPx = Math.max(1, this.host.clientWidth);
    this.heightPx = Math.max(1, this.host.clientHeight);
    const ratio = pixelRatio();
    setSize(this.overlay, this.widthPx, this.heightPx, ratio);
    setSize(this.rectCanvas, this.widthPx, Math.max(1, this.viewHeightPx), ratio);
    this.scrollTo(this.scrollPx);
    const { selected } = this.inputs;
    if (selected !== null) this.scrollIntoSight(selected.track, selected.lane);
    this.invalidate();
  }

  invalidate(): void {
    if (this.frame === 0) this.frame = requestAnimationFrame((now) => this.onFrame(now));
  }

  /** Goes there at once. */
  show(viewport: Viewport): void {
    this.mover.stopGlide();
    this.viewport = clampViewport(viewport, this.durationNs);
    this.moved();
  }

  /** Goes there so that the eye can follow, unless the reader wants no motion. */
  glide(to: Viewport): void {
    if (this.reducedMotion.matches) { this.show(to); return; }
    this.mover.glide(this.viewport, to, performance.now());
    this.invalidate();
  }

  zoom(factor: number, atPx: number): void {
    this.mover.stopGlide();
    this.viewport = zoomAt(this.viewport, factor, atPx / this.widthPx, this.durationNs);
    this.moved();
  }

  pan(px: number): void {
    this.mover.stopGlide();
    this.viewport = panBy(this.viewport, px / this.widthPx, this.durationNs);
    this.moved();
  }

  scrollTo(px: number): void {
    this.stickyPx = stickyOf(this.layout, this.viewHeightPx);
    this.scrollPx = Math.min(Math.max(0, px), Math.max(0, this.layout.heightPx - this.viewHeightPx));
    this.moved();
  }

  /** Brings a track (and a lane of it) into sight. */
  scrollIntoSight(trackKey: string, lane: number): void {
    const row = this.layout.rowOf.get(trackKey);
    if (row === undefined || row.topPx < this.stickyPx) return;
    const top = row.topPx + Math.min(lane, row.lanes) * row.lanePx;
    const bottom = top + 2 * row.lanePx;
    if (top < this.scrollPx + this.stickyPx) this.scrollTo(top - this.stickyPx - row.lanePx);
    else if (bottom > this.scrollPx + this.viewHeightPx) this.scrollTo(bottom - this.viewHeightPx + row.lanePx);
  }

  scrollRowIntoSight(row: Row): void {
    if (row.topPx < this.stickyPx) return;
    if (row.topPx < this.scrollPx + this.stickyPx) this.scrollTo(row.topPx - this.stickyPx);
    else if (row.topPx + GROUP_PX > this.scrollPx + this.viewHeightPx) this.scrollTo(row.topPx + row.heightPx - this.viewHeightPx);
  }

  /** A key that acts while it is held; without motion it takes one step. */
  startMotion(motion: Motion, atPx: number): void {
    const at = atPx / this.widthPx;
    if (this.reducedMotion.matches) { this.show(stepped(this.viewport, motion, at, STEP_S, this.durationNs)); return; }
    this.mover.hold(motion, at, performance.now());
    this.invalidate();
  }

  endMotion(motion: Motion | null): void {
    this.mover.release(motion);
    this.events.onChange(this);
  }

  /** What is on screen, or will be when a glide has ended. */
  get destination(): Viewport {
    return this.mover.target ?? this.viewport;
  }

  timeAtPx(xPx: number): number {
    return timeAt(this.viewport, xPx, this.widthPx);
  }

  pxOfTime(timeNs: number): number {
    return pxOf(this.viewport, timeNs, this.widthPx);
  }

  /** The slice or counter at a point of the surface; null over the ruler, a group or empty space. */
  hit(xPx: number, yPx: number): Hover | null {
    const row = this.rowAtPx(yPx);
    if (row?.kind !== "track") return null;
    const pieces = piecesOf(this.loader.tilesOf(row.number), this.viewport, this.widthPx);
    const tile = pieces.find((piece) => xPx >= piece.leftPx && xPx <= piece.rightPx)?.tile;
    if (tile === undefined) return null;
    const timeNs = this.timeAtPx(xPx);
    const lane = laneAt(row, yPx - rowTopPx(this, row));
    if (row.track.kind === "counter") return { row, lane, tile, box: null, timeNs };
    const box = boxAt(tile.boxes, lane, timeNs, spanNs(this.viewport) / this.widthPx);
    return box === null ? null : { row, lane, tile, box, timeNs };
  }

  /** The row at a height of the surface, pinned ones included; null over the ruler. */
  rowAtPx(yPx: number): Row | null {
    if (yPx < HEAD_PX || yPx > this.heightPx) return null;
    const belowHead = yPx - HEAD_PX;
    return rowAt(this.layout, belowHead < this.stickyPx ? belowHead : belowHead + this.scrollPx);
  }

  pointAt(xPx: number, yPx: number): void {
    this.pointer = { x: xPx, y: yPx };
    if (this.followPointer()) this.invalidate();
  }

  leave(): void {
    this.pointer = null;
    if (this.followPointer()) this.invalidate();
  }

  /** Finds what is under the pointer now; whether that is something else than before. */
  private followPointer(): boolean {
    const { pointer, hover: before } = this;
    const now = pointer === null ? null : this.hit(pointer.x, pointer.y);
    const isSameBox = now?.box != null && now.tile === before?.tile && now.box === before.box && now.row === before.row;
    if (isSameBox || (now === null && before === null)) return false;
    this.hover = now;
    this.events.onChange(this);
    return true;
  }

  /** Draws now, for a picture; gives both layers, the rectangles lie below the ruler. */
  layers(): { rects: HTMLCanvasElement; overlay: HTMLCanvasElement; ratio: number; palette: Palette } {
    this.draw();
    return { rects: this.rectCanvas, overlay: this.overlay, ratio: pixelRatio(), palette: this.palette };
  }

  private paints(part: StackPart): Paints {
    const { mode, matches } = this.inputs;
    return { palette: this.palette, mode, categories: this.stack.parts[0].tracks.categories, matches: matches === null ? null : (matches.get(part) ?? NO_MATCHES) };
  }

  private repaint(): void {
    this.loader.each((tile, part) => paintTile(tile, this.paints(part)));
  }

  private moved(): void {
    clearTimeout(this.rest);
    this.resting = false;
    this.rest = setTimeout(() => {
      this.resting = true;
      this.invalidate();
    }, REST_MS);
    this.invalidate();
    this.events.onChange(this);
  }

  visibleRows(): TrackRow[] {
    return visibleTracks(this.layout, this.scrollPx + this.stickyPx, this.scrollPx + this.viewHeightPx, this.stickyPx);
  }

  private onFrame(nowMs: number): void {
    this.frame = 0;
    const next = this.mover.advance(this.viewport, this.durationNs, nowMs);
    if (next !== this.viewport) {
      this.viewport = next;
      this.moved();
    }
    this.followPointer();
    this.draw();
    this.loader.requestMissing(this.viewport, this.widthPx, this.wanted(), this.resting);
    if (this.mover.isMoving) this.invalidate();
  }

  /** The lanes on screen and near it, and always the steps: the hover card shows shares of them. */
  private wanted(): LaneRange[] {
    const lanes = visibleLanes(this.layout, this.scrollPx - PREFETCH_PX, this.scrollPx + this.viewHeightPx + PREFETCH_PX, this.stickyPx);
    return [...unseenSteps(this.stack, this.layout, lanes), ...lanes];
  }

  private scene(): Scene {
    const { viewport, durationNs, widthPx, heightPx, scrollPx, stickyPx, layout, palette, hover } = this;
    const tilesOf = (track: number) => this.loader.tilesOf(track);
    return { ...this.inputs, viewport, durationNs, widthPx, heightPx, scrollPx, stickyPx, layout, rows: this.visibleRows(), tilesOf, palette, hover };
  }

  private draw(): void {
    const scene = this.scene();
    const ratio = pixelRatio();
    this.headers.style.transform = `translateY(${-Math.round(this.scrollPx)}px)`;
    drawBoxes(this.renderer, scene, ratio);
    const context = this.overlay.getContext("2d");
    if (context !== null) drawOverlay(context, scene, this.labels, ratio);
  }
}
