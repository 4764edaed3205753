/** From the selected slice to its neighbours, as arrows walk. */
import type { TimelineSlicePayload } from "../generated/schema";
import { boxAt, neighbour } from "./hit";
import type { Hover } from "./scene";
import type { Stage } from "./stage";
import { nameOf, NO_ID, type TrackTile } from "./tile";
import { reveal } from "./viewport";

export type Direction = "left" | "right" | "up" | "down";

/** What arrows move when nothing is selected, in pixels. */
const PAN_PX = 120;
const SCROLL_PX = 54;

/** The slice of a box; null for merged blocks and for sums that are no slice. */
export function sliceOf(hit: Pick<Hover, "row" | "lane" | "tile" | "box">): TimelineSlicePayload | null {
  const { tile, box } = hit;
  if (box === null || tile.boxes.slices[box] !== 1 || tile.boxes.id[box] === NO_ID) return null;
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
  };
}

export function moveSelection(stage: Stage, from: TimelineSlicePayload | null, direction: Direction, pick: (slice: TimelineSlicePayload) => void): void {
  if (from === null) {
    if (direction === "left" || direction === "right") stage.pan(direction === "left" ? -PAN_PX : PAN_PX);
    else stage.scrollTo(stage.scrollPx + (direction === "up" ? -SCROLL_PX : SCROLL_PX));
    return;
  }
  const row = stage.layout.tracks.find(({ track }) => track.key === from.track);
  const tile = row === undefined ? null : stage.loader.of(row.number).fine;
  if (row === undefined || tile === null) return;
  const box = boxTowards(tile, from, direction);
  const next = box === null ? null : sliceOf({ row, lane: 0, tile, box });
  if (next === null) return;
  pick(next);
  stage.glide(reveal(stage.viewport, next.start_ns, next.start_ns + next.dur_ns, stage.durationNs));
  stage.scrollIntoSight(next.track, next.lane);
}

/** Left and right in the lane; up to what encloses it, down to the first slice inside. */
export function boxTowards({ boxes, pixelNs }: TrackTile, from: TimelineSlicePayload, direction: Direction): number | null {
  if (direction === "left") return neighbour(boxes, from.lane, from.start_ns, -1);
  if (direction === "right") return neighbour(boxes, from.lane, from.start_ns, 1);
  if (direction === "up") return from.lane === 0 ? null : boxAt(boxes, from.lane - 1, from.start_ns, pixelNs);
  const inside = neighbour(boxes, from.lane + 1, from.start_ns - 1, 1);
  return inside !== null && (boxes.startNs[inside] ?? 0) < from.start_ns + from.dur_ns ? inside : null;
}
