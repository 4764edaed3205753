/** What lies over the rectangles: text, counters, arrows, what is chosen, the ruler. One 2D canvas. */
import type { TimelineSlicePayload } from "../generated/schema";
import { formatValue } from "../lib/format";
import { textOn } from "./colors";
import { drawCounter } from "./counterDrawing";
import { drawIterations } from "./iterationDrawing";
import { LABEL_FONT, LABEL_MIN_PX, LABEL_PADDING_PX, type Labels } from "./labels";
import { laneTopPx, type Row, type TrackRow } from "./layout";
import { drawNotes } from "./noteDrawing";
import { drawPath } from "./pathDrawing";
import { rangeBands } from "./rangeBand";
import { ticks } from "./ruler";
import { HEAD_PX, MINIMAP_PX, piecesOf, pixelNs, rowTopPx, sliceRect, type Scene } from "./scene";
import { shownNameOf } from "./tile";
import { pxOf, type TimeRange } from "./viewport";

type Context = CanvasRenderingContext2D;

export function drawOverlay(context: Context, scene: Scene, labels: Labels, ratio: number): void {
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, scene.widthPx, scene.heightPx);
  const stickyBottom = HEAD_PX + scene.stickyPx;
  drawArea(context, scene, labels, { topPx: stickyBottom, bottomPx: scene.heightPx, holds: (row) => row.topPx >= scene.stickyPx });
  if (scene.stickyPx > 0) {
    drawArea(context, scene, labels, { topPx: HEAD_PX, bottomPx: stickyBottom, holds: (row) => row.topPx < scene.stickyPx });
    context.fillStyle = scene.palette.lineStrong;
    context.fillRect(0, stickyBottom - 2, scene.widthPx, 2);
  }
  clipped(context, scene, HEAD_PX, scene.heightPx, () => drawFlows(context, scene));
  drawIterations(context, scene);
  drawNotes(context, scene);
  drawRanges(context, scene);
  drawRuler(context, scene);
  drawMinimap(context, scene);
}

/** Rows that scroll, or rows that do not, and where they are seen. */
interface Area {
  readonly topPx: number;
  readonly bottomPx: number;
  readonly holds: (row: Pick<Row, "topPx">) => boolean;
}

function clipped(context: Context, { widthPx }: Scene, topPx: number, bottomPx: number, draw: () => void): void {
  context.save();
  context.beginPath();
  context.rect(0, topPx, widthPx, Math.max(0, bottomPx - topPx));
  context.clip();
  draw();
  context.restore();
}

function drawArea(context: Context, scene: Scene, labels: Labels, area: Area): void {
  const isHeld = (slice: TimelineSlicePayload) => {
    const row = scene.layout.rowOf.get(slice.track);
    return row !== undefined && area.holds(row);
  };
  clipped(context, scene, area.topPx, area.bottomPx, () => {
    drawRows(context, scene, area);
    for (const row of scene.rows.filter(area.holds)) {
      if (row.track.kind === "counter") drawCounter(context, scene, row);
      else drawLabels(context, scene, row, labels);
    }
    drawPath(context, scene, scene.path.filter(isHeld));
    drawHits(context, scene, scene.hits.filter(isHeld));
    if (scene.hover !== null && area.holds(scene.hover.row)) drawHover(context, scene);
    if (scene.selected !== null && isHeld(scene.selected)) drawChosen(context, scene);
  });
}

function drawRows(context: Context, scene: Scene, area: Area): void {
  context.fillStyle = scene.palette.line;
  for (const row of scene.layout.rows) {
    const bottom = rowTopPx(scene, row) + row.heightPx;
    if (!area.holds(row) || bottom < area.topPx || bottom > area.bottomPx + row.heightPx) continue;
    if (row.kind === "group") {
      context.fillStyle = scene.palette.raised;
      context.fillRect(0, bottom - row.heightPx, scene.widthPx, row.heightPx);
      context.fillStyle = scene.palette.line;
    }
    context.fillRect(0, Math.round(bottom) - 1, scene.widthPx, 1);
  }
}

function drawLabels(context: Context, scene: Scene, row: TrackRow, labels: Labels): void {
  context.font = LABEL_FONT;
  context.textBaseline = "middle";
  const top = rowTopPx(scene, row);
  const scale = 1 / pixelNs(scene);
  const { startNs } = scene.viewport;
  for (const { tile, leftPx, rightPx } of piecesOf(scene.tilesOf(row.number), scene.viewport, scene.widthPx)) {
    const { boxes, batch } = tile;
    for (let box = 0; box < boxes.count; box++) {
      const left = Math.max(((boxes.startNs[box] ?? 0) - startNs) * scale, leftPx);
      const right = Math.min(((boxes.endNs[box] ?? 0) - startNs) * scale, rightPx);
      const lane = boxes.lane[box] ?? 0;
      if (right - left < LABEL_MIN_PX || lane >= row.lanes) continue;
      const y = top + laneTopPx(row, lane) + row.lanePx / 2;
      if (y < HEAD_PX - row.lanePx || y > scene.heightPx + row.lanePx) continue;
      const name = shownNameOf(tile, box, scene.names);
      const text = name === null ? null : labels.fit(name, right - left);
      if (text === null) continue;
      const at = box * 4;
      const dimmed = batch.marks !== null && batch.marks[box] === 0;
      context.fillStyle = dimmed ? scene.palette.soft : textOn([batch.paints[at] ?? 0, batch.paints[at + 1] ?? 0, batch.paints[at + 2] ?? 0]);
      context.fillText(text, left + LABEL_PADDING_PX, y);
    }
  }
}

/** Every hit of a search, also those inside merged blocks, as a line below it. */
function drawHits(context: Context, scene: Scene, hits: readonly TimelineSlicePayload[]): void {
  context.fillStyle = scene.palette.warn;
  for (const hit of hits) {
    const rect = sliceRect(scene, hit);
    if (rect === null || rect.right < 0 || rect.left > scene.widthPx) continue;
    context.fillRect(rect.left, rect.top + rect.height - 2, Math.max(2, rect.right - rect.left - 1), 2);
  }
}

function drawHover(context: Context, scene: Scene): void {
  const { hover } = scene;
  if (hover?.box == null) return;
  const { boxes } = hover.tile;
  const left = pxOf(scene.viewport, boxes.startNs[hover.box] ?? 0, scene.widthPx);
  const right = pxOf(scene.viewport, boxes.endNs[hover.box] ?? 0, scene.widthPx);
  outline(context, scene, { left, right, top: rowTopPx(scene, hover.row) + laneTopPx(hover.row, hover.lane), height: hover.row.lanePx - 1 }, scene.palette.text, 1);
}

function drawChosen(context: Context, scene: Scene): void {
  const rect = scene.selected === null ? null : sliceRect(scene, scene.selected);
  if (rect === null) return;
  outline(context, scene, rect, scene.palette.dark ? "#000000" : "#ffffff", 4);
  outline(context, scene, rect, scene.palette.accent, 2);
}

function outline(context: Context, scene: Scene, rect: { left: number; right: number; top: number; height: number }, color: string, width: number): void {
  const left = Math.max(rect.left, -10);
  const right = Math.min(Math.max(rect.right - 1, rect.left + 2), scene.widthPx + 10);
  if (right < left) return;
  context.strokeStyle = color;
  context.lineWidth = width;
  context.strokeRect(left, rect.top, right - left, rect.height);
}

const ARROW_PX = 6;

function drawFlows(context: Context, scene: Scene): void {
  context.strokeStyle = scene.palette.text;
  context.fillStyle = scene.palette.text;
  context.lineWidth = 1.25;
  for (const { source, target } of scene.flows) {
    const from = sliceRect(scene, source);
    const to = sliceRect(scene, target);
    if (from === null || to === null) continue;
    // An arrow between slices that overlap in time leaves from the start, so that it does not run back.
    const x0 = clampPx(from.right <= to.left ? from.right : from.left, scene);
    const x1 = clampPx(to.left, scene);
    const [y0, y1] = [from.top + from.height / 2, to.top + to.height / 2];
    const bend = Math.max(20, Math.abs(x1 - x0) / 2);
    context.beginPath();
    context.moveTo(x0, y0);
    context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
    context.stroke();
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x1 - ARROW_PX, y1 - ARROW_PX / 2);
    context.lineTo(x1 - ARROW_PX, y1 + ARROW_PX / 2);
    context.fill();
  }
}

/** Curves to far away would be drawn over millions of pixels. */
function clampPx(px: number, { widthPx }: Scene): number {
  return Math.min(Math.max(px, -widthPx), 2 * widthPx);
}

function drawRanges(context: Context, scene: Scene): void {
  if (scene.selection !== null) shadeOutside(context, scene, scene.selection);
  if (scene.range === null) return;
  const [left, right] = edges(scene, scene.range);
  context.fillStyle = scene.palette.accent;
  for (const { topPx, bottomPx } of rangeBands(scene)) {
    const height = bottomPx - topPx;
    context.globalAlpha = 0.12;
    context.fillRect(left, topPx, right - left, height);
    context.globalAlpha = 1;
    for (const edge of [left, right]) context.fillRect(Math.round(edge) - 0.5, topPx, 1, height);
  }
}

/** What every other view leaves out is shaded here. */
function shadeOutside(context: Context, scene: Scene, ranges: readonly TimeRange[]): void {
  context.fillStyle = scene.palette.lineStrong;
  context.globalAlpha = 0.28;
  let doneX = 0;
  for (const range of ranges) {
    const [left, right] = edges(scene, range);
    context.fillRect(doneX, HEAD_PX, Math.max(0, Math.min(left, scene.widthPx) - doneX), scene.heightPx);
    doneX = Math.max(doneX, right);
  }
  context.fillRect(doneX, HEAD_PX, Math.max(0, scene.widthPx - doneX), scene.heightPx);
  context.globalAlpha = 1;
}

function edges(scene: Scene, { startNs, endNs }: TimeRange): [number, number] {
  return [pxOf(scene.viewport, startNs, scene.widthPx), pxOf(scene.viewport, endNs, scene.widthPx)];
}

/** Between a mark and its label, and between a label and the length of the range. */
const TICK_LABEL_PX = 4;

function drawRuler(context: Context, scene: Scene): void {
  const { palette, viewport, widthPx } = scene;
  context.fillStyle = palette.soft;
  context.font = LABEL_FONT;
  context.textBaseline = "middle";
  const middle = (MINIMAP_PX + HEAD_PX) / 2;
  const length = rangeLength(context, scene);
  for (const { timeNs, label } of ticks(viewport, widthPx)) {
    const x = Math.round(pxOf(viewport, timeNs, widthPx));
    context.fillRect(x, HEAD_PX - 6, 1, 6);
    const left = x + TICK_LABEL_PX;
    const right = left + context.measureText(label).width;
    // Half a number would be another number.
    const isCovered = length !== null && right + TICK_LABEL_PX > length.left && left - TICK_LABEL_PX < length.right;
    if (right <= widthPx && !isCovered) context.fillText(label, left, middle);
  }
  if (length !== null) {
    context.fillStyle = palette.accent;
    context.fillRect(length.left, middle - 9, length.right - length.left, 18);
    context.fillStyle = palette.surface;
    context.fillText(length.text, length.left + LENGTH_PADDING_PX, middle);
  }
  context.fillStyle = palette.lineStrong;
  context.fillRect(0, HEAD_PX - 1, widthPx, 1);
}

const LENGTH_PADDING_PX = 6;

/** The length of the chosen range as a label, and its position on the ruler; null when the range is off screen. */
function rangeLength(context: Context, scene: Scene): { readonly text: string; readonly left: number; readonly right: number } | null {
  if (scene.range === null) return null;
  const [from, to] = edges(scene, scene.range);
  if (to < 0 || from > scene.widthPx) return null;
  const text = formatValue((scene.range.endNs - scene.range.startNs) / 1000, "us");
  const half = context.measureText(text).width / 2 + LENGTH_PADDING_PX;
  const centre = Math.min(Math.max((from + to) / 2, half), scene.widthPx - half);
  return { text, left: centre - half, right: centre + half };
}

/** All of the trace in one strip: its steps, and the part that is on screen. */
function drawMinimap(context: Context, scene: Scene): void {
  const { palette, durationNs, widthPx, viewport } = scene;
  context.fillStyle = palette.raised;
  context.fillRect(0, 0, widthPx, MINIMAP_PX);
  const steps = scene.layout.tracks.find(({ track }) => track.kind === "steps");
  const whole = steps === undefined ? null : scene.tilesOf(steps.number).whole;
  const whole01 = { startNs: 0, endNs: Math.max(1, durationNs) };
  if (whole !== null) {
    context.fillStyle = palette.lineStrong;
    for (let box = 0; box < whole.boxes.count; box++) {
      const left = pxOf(whole01, whole.boxes.startNs[box] ?? 0, widthPx);
      const right = pxOf(whole01, whole.boxes.endNs[box] ?? 0, widthPx);
      context.fillRect(left, 4, Math.max(1, right - left - 1), MINIMAP_PX - 8);
    }
  }
  const left = Math.max(0, pxOf(whole01, viewport.startNs, widthPx));
  const right = Math.min(widthPx, Math.max(pxOf(whole01, viewport.endNs, widthPx), left + 3));
  context.fillStyle = palette.accent;
  context.globalAlpha = 0.25;
  context.fillRect(left, 0, right - left, MINIMAP_PX);
  context.globalAlpha = 1;
  context.fillRect(left, 0, 1, MINIMAP_PX);
  context.fillRect(right - 1, 0, 1, MINIMAP_PX);
  context.fillRect(left, MINIMAP_PX - 1, right - left, 1);
}
