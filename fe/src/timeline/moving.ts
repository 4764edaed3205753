/** From the selected slice to its neighbours, as arrows walk; from none to the first one on screen. */
import type { TimelineSlicePayload } from "../generated/schema";
import { announce } from "./announce";
import { boxAt, neighbour } from "./hit";
import type { TrackRow } from "./layout";
import type { Hover } from "./scene";
import type { Stage } from "./stage";
import type { TrackTiles } from "./tile";
import { nameOf, NO_ID, NO_NAME, type Boxes, type TrackTile } from "./tile";
import { fitRange, panBy, reveal, type Viewport } from "./viewport";

export type Direction = "left" | "right" | "up" | "down";

/** Where there is no slice to go to, arrows move the screen. */
const PAN_SHARE = 0.5;
const SCROLL_PX = 54;

/** The slice of a box; null for merged blocks and for sums that are no slice. */
export function sliceOf(hit: Pick<Hover, "row" | "lane" | "tile" | "box">): TimelineSlicePayload | null {
  const { tile, box } = hit;
  if (box === null || !isSlice(tile.boxes, box)) return null;
  const { boxes } = tile;
  const startNs = boxes.startNs[box] ?? 0;
  return {
    id: boxes.id[box] ?? 0,
    name: nameOf(tile, box) ?? "",
    category: boxes.category[box] ?? 0,
    track: hit.row.track.key,
    lane: boxes.lane[box] ?? 0,
    start_ns: startNs,
    dur_ns: (boxes.endNs[box] ?? 0) - startNs,
    short_name: tile.shortNames[boxes.name[box] ?? NO_NAME] ?? null,
    demangled_name: tile.demangledNames[boxes.name[box] ?? NO_NAME] ?? null,
  };
}

function isSlice(boxes: Boxes, box: number): boolean {
  return boxes.slices[box] === 1 && boxes.id[box] !== NO_ID;
}

export function moveSelection(stage: Stage, from: TimelineSlicePayload | null, direction: Direction, pick: (slice: TimelineSlicePayload) => void): void {
  const rows = stage.layout.tracks;
  const tilesOf = (row: TrackRow) => stage.loader.tilesOf(row.number);
  const next = from === null ? firstOnScreen(stage.visibleRows(), tilesOf, stage.viewport) : sliceTowards(rows, tilesOf, from, direction, stage.viewport);
  if (next !== null) {
    pick(next);
    stage.glide(reveal(stage.viewport, next.start_ns, next.start_ns + next.dur_ns, stage.durationNs));
    stage.scrollIntoSight(next.track, next.lane);
  } else if (from === null) zoomToMerged(stage);
  else if (direction === "left" || direction === "right") {
    stage.glide(panBy(stage.viewport, direction === "left" ? -PAN_SHARE : PAN_SHARE, stage.durationNs));
    announce("No further slice on screen; moved on.");
  } else stage.scrollTo(stage.scrollPx + (direction === "up" ? -SCROLL_PX : SCROLL_PX));
}

/** Where all slices are too narrow to be selected, the first merged block fills the screen. */
function zoomToMerged(stage: Stage): void {
  for (const row of stage.visibleRows()) {
    const tile = finest(stage.loader.tilesOf(row.number));
    const box = tile === null ? null : firstBox(tile.boxes, stage.viewport, (each) => (tile.boxes.slices[each] ?? 1) > 1);
    if (tile === null || box === null) continue;
    stage.glide(fitRange(tile.boxes.startNs[box] ?? 0, tile.boxes.endNs[box] ?? 0, stage.durationNs));
    announce("Slices are too narrow here: zoomed in on the first of them. Press the arrow again.");
    return;
  }
  announce("No slice on screen.");
}

/** The first slice of the uppermost track that shows one. */
export function firstOnScreen(rows: readonly TrackRow[], tilesOf: (row: TrackRow) => TrackTiles, viewport: Viewport): TimelineSlicePayload | null {
  for (const row of rows) {
    const tile = finest(tilesOf(row));
    const box = tile === null ? null : firstBox(tile.boxes, viewport, (each) => isSlice(tile.boxes, each) && (tile.boxes.lane[each] ?? 0) < row.lanes);
    if (tile !== null && box !== null) return sliceOf({ row, lane: 0, tile, box });
  }
  return null;
}

/** Of the boxes on screen that are wanted the one in the uppermost lane, there the earliest. */
function firstBox({ count, lane, startNs, endNs }: Boxes, viewport: Viewport, isWanted: (box: number) => boolean): number | null {
  let best: number | null = null;
  for (let box = 0; box < count; box++) {
    if ((startNs[box] ?? 0) >= viewport.endNs || (endNs[box] ?? 0) <= viewport.startNs || !isWanted(box)) continue;
    const isFirst = best === null || (lane[box] ?? 0) < (lane[best] ?? 0) || (lane[box] === lane[best] && (startNs[box] ?? 0) < (startNs[best] ?? 0));
    if (isFirst) best = box;
  }
  return best;
}

function finest({ sharp, fine, whole }: TrackTiles): TrackTile | null {
  return sharp ?? fine ?? whole;
}

/**
 * Left and right in the lane; up and down to what encloses it and to the first slice inside, else to the one on screen
 * nearest in time in the lanes beyond, else in the next track that has one.
 */
export function sliceTowards(
  rows: readonly TrackRow[],
  tilesOf: (row: TrackRow) => TrackTiles,
  from: TimelineSlicePayload,
  direction: Direction,
  viewport: Viewport,
): TimelineSlicePayload | null {
  const at = rows.findIndex(({ track }) => track.key === from.track);
  const row = rows[at];
  if (row === undefined) return null;
  const { sharp, fine } = tilesOf(row);
  // The sharp tile ends at the edges of the screen, the fine one does not.
  for (const tile of [sharp, fine]) {
    const box = tile === null ? null : boxTowards(tile, from, direction);
    const next = tile === null || box === null ? null : sliceOf({ row, lane: 0, tile, box });
    if (next !== null && next.lane < row.lanes) return next;
  }
  return direction === "up" || direction === "down" ? nearestLane(rows, tilesOf, at, from, direction, viewport) : null;
}

function nearestLane(
  rows: readonly TrackRow[],
  tilesOf: (row: TrackRow) => TrackTiles,
  at: number,
  from: TimelineSlicePayload,
  direction: "up" | "down",
  viewport: Viewport,
): TimelineSlicePayload | null {
  const by = direction === "up" ? -1 : 1;
  for (let index = at; index >= 0 && index < rows.length; index += by) {
    const row = rows[index];
    const tile = row === undefined ? null : finest(tilesOf(row));
    if (row === undefined || tile === null) continue;
    const isBeyond = (lane: number) => lane < row.lanes && (index !== at || (lane - from.lane) * by > 0);
    const box = nearestBox(tile.boxes, isBeyond, from, by, viewport);
    if (box !== null) return sliceOf({ row, lane: 0, tile, box });
  }
  return null;
}

/** The slice on screen that begins nearest to another one, of those in the nearest lane. */
function nearestBox({ count, lane, startNs, endNs, ...boxes }: Boxes, isWanted: (lane: number) => boolean, from: TimelineSlicePayload, by: 1 | -1, viewport: Viewport): number | null {
  let best: number | null = null;
  let bestNs = Infinity;
  for (let box = 0; box < count; box++) {
    const [start, end, boxLane] = [startNs[box] ?? 0, endNs[box] ?? 0, lane[box] ?? 0];
    if (start >= viewport.endNs || end <= viewport.startNs || !isWanted(boxLane) || boxes.slices[box] !== 1 || boxes.id[box] === NO_ID) continue;
    const distanceNs = start <= from.start_ns && end > from.start_ns ? 0 : Math.abs(start - from.start_ns);
    const isNearer = best === null || distanceNs < bestNs || (distanceNs === bestNs && (boxLane - (lane[best] ?? 0)) * by < 0);
    if (!isNearer) continue;
    best = box;
    bestNs = distanceNs;
  }
  return best;
}

/** Left and right in the lane; up to what encloses it, down to the first slice inside. */
export function boxTowards({ boxes, pixelNs }: TrackTile, from: TimelineSlicePayload, direction: Direction): number | null {
  if (direction === "left") return neighbour(boxes, from.lane, from.start_ns, -1);
  if (direction === "right") return neighbour(boxes, from.lane, from.start_ns, 1);
  if (direction === "up") return from.lane === 0 ? null : boxAt(boxes, from.lane - 1, from.start_ns, pixelNs);
  const inside = neighbour(boxes, from.lane + 1, from.start_ns - 1, 1);
  return inside !== null && (boxes.startNs[inside] ?? 0) < from.start_ns + from.dur_ns ? inside : null;
}
