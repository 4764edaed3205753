/** A counter as stairs, filled; where several values share a pixel, the band from lowest to highest. */
import type { TimelineTrackPayload } from "../generated/schema";
import { formatNumber, formatValue } from "../lib/format";
import { visibleText } from "../lib/visibleText";
import { LABEL_FONT } from "./labels";
import { PADDING_PX, type TrackRow } from "./layout";
import { piecesOf, rowTopPx, type Piece, type Scene } from "./scene";
import type { Stairs } from "./tile";
import { pxOf } from "./viewport";

type Context = CanvasRenderingContext2D;
type Measured = Pick<TimelineTrackPayload, "unit" | "unit_label">;

/** A value with its unit: one that scales, or as the recording writes it. */
export function formatCounter(value: number, { unit, unit_label: label }: Measured): string {
  if (Number.isNaN(value)) return "unknown";
  if (unit !== null && unit !== "count") return formatValue(value, unit);
  const text = formatNumber(value, Number.isInteger(value) ? 0 : 2);
  return label === null ? text : `${text} ${visibleText(label)}`;
}

/** The last point at or before a moment; -1 before the first. */
export function pointAt({ timeNs }: Stairs, moment: number): number {
  let low = 0;
  let high = timeNs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((timeNs[middle] ?? 0) <= moment) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

export function drawCounter(context: Context, scene: Scene, row: TrackRow): void {
  const top = rowTopPx(scene, row) + PADDING_PX;
  const height = row.heightPx - 2 * PADDING_PX;
  const maximum = row.track.maximum ?? 0;
  context.fillStyle = scene.palette.accent;
  for (const piece of piecesOf(scene.tilesOf(row.number), scene.viewport, scene.widthPx)) {
    if (piece.tile.stairs !== null && maximum > 0) drawStairs(context, scene, piece, piece.tile.stairs, top, height, maximum);
  }
  context.font = LABEL_FONT;
  context.textBaseline = "top";
  const text = formatCounter(maximum, row.track);
  context.fillStyle = scene.palette.surface;
  context.globalAlpha = 0.75;
  context.fillRect(2, top, context.measureText(text).width + 4, 14);
  context.globalAlpha = 1;
  context.fillStyle = scene.palette.soft;
  context.fillText(text, 4, top + 1);
}

/** Edges lie on whole pixels: areas that meet inside a pixel show a seam there. */
function drawStairs(context: Context, scene: Scene, piece: Piece, stairs: Stairs, top: number, height: number, maximum: number): void {
  const { viewport, widthPx } = scene;
  const yOf = (value: number) => top + height * (1 - Math.min(1, Math.max(0, value / maximum)));
  const first = Math.max(0, pointAt(stairs, viewport.startNs));
  for (let point = first; point < stairs.timeNs.length; point++) {
    const startPx = Math.max(pxOf(viewport, stairs.timeNs[point] ?? 0, widthPx), piece.leftPx);
    if (startPx > piece.rightPx) break;
    const nextNs = stairs.timeNs[point + 1] ?? scene.durationNs;
    const endPx = Math.min(pxOf(viewport, nextNs, widthPx), piece.rightPx);
    if (endPx <= startPx) continue;
    const [left, right] = [Math.round(startPx), Math.round(endPx)];
    const last = stairs.last[point] ?? NaN;
    const [low, high] = [stairs.min[point] ?? NaN, stairs.max[point] ?? NaN];
    if (!Number.isNaN(last)) {
      context.globalAlpha = 0.3;
      context.fillRect(left, yOf(last), right - left, top + height - yOf(last));
      context.globalAlpha = 1;
      context.fillRect(left, yOf(last) - 0.5, Math.max(1, right - left), 1);
    }
    if (high > low) {
      context.globalAlpha = 0.65;
      context.fillRect(left, yOf(high), 1, Math.max(1, yOf(low) - yOf(high)));
      context.globalAlpha = 1;
    }
  }
}
