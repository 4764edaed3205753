/**
 * The binary answer of `/timeline` (docs/internals.md, "Timeline") as columns. The arrays are views
 * of the body: only the small JSON head is parsed.
 */
import type { TimelineArrayPayload, TimelineHead } from "../generated/schema";
import { NO_ID, NO_NAME, type Boxes, type Stairs } from "./tile";

/** The part of an answer that belongs to one track. */
export interface TrackPart {
  readonly boxes: Boxes;
  readonly stairs: Stairs | null;
}

export interface Screen {
  readonly head: TimelineHead;
  readonly nameCodes: Uint32Array;
  /** By number of the track; a track without slices in the range is missing. */
  readonly parts: ReadonlyMap<number, TrackPart>;
}

type Numbers = Uint8Array | Uint16Array | Uint32Array | Int32Array | Float32Array | Float64Array;

const VIEWS = {
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  int32: Int32Array,
  float32: Float32Array,
  float64: Float64Array,
} as const;

/** Busy time of a merged block that fills its bucket. */
const FULL_BUCKET = 32768;

/** @throws RangeError when the body is shorter than its head declares. */
export function decodeScreen(body: ArrayBuffer): Screen {
  const headBytes = new DataView(body).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(body, 4, headBytes))) as TimelineHead;
  const array = (name: string): Numbers => viewOf(body, head.arrays[name]);
  const parts = new Map<number, TrackPart>();
  for (const [track, lanes] of lanesByTrack(array("lane_track"))) {
    parts.set(track, { boxes: boxesOf(head, array, lanes), stairs: null });
  }
  const counterTrack = array("counter_track");
  counterTrack.forEach((track, index) => {
    const boxes = parts.get(track)?.boxes ?? emptyBoxes();
    parts.set(track, { boxes, stairs: stairsOf(head, array, index) });
  });
  return { head, nameCodes: Uint32Array.from(array("slice_name_codes")), parts };
}

function viewOf(body: ArrayBuffer, at: TimelineArrayPayload | undefined): Numbers {
  if (at === undefined) return new Uint8Array(0);
  return new VIEWS[at.dtype](body, at.offset, at.length);
}

function lanesByTrack(laneTrack: Numbers): Map<number, number[]> {
  const lanes = new Map<number, number[]>();
  laneTrack.forEach((track, lane) => {
    const known = lanes.get(track);
    if (known === undefined) lanes.set(track, [lane]);
    else known.push(lane);
  });
  return lanes;
}

function createBoxes(count: number): Boxes {
  return {
    count,
    startNs: new Float64Array(count),
    endNs: new Float64Array(count),
    lane: new Uint16Array(count),
    category: new Uint8Array(count),
    slices: new Uint32Array(count).fill(1),
    busy: new Float32Array(count).fill(1),
    name: new Uint32Array(count).fill(NO_NAME),
    id: new Uint32Array(count).fill(NO_ID),
  };
}

export function emptyBoxes(): Boxes {
  return createBoxes(0);
}

function boxesOf(head: TimelineHead, array: (name: string) => Numbers, lanes: readonly number[]): Boxes {
  const sliceFrom = array("lane_slices");
  const mergedFrom = array("lane_merged");
  const rowsOf = (from: Numbers, lane: number) => [from[lane] ?? 0, from[lane + 1] ?? 0] as const;
  let count = 0;
  for (const lane of lanes) {
    for (const from of [sliceFrom, mergedFrom]) {
      const [first, end] = rowsOf(from, lane);
      count += end - first;
    }
  }
  const boxes = createBoxes(count);
  const laneRow = array("lane_row");
  const bucketNs = array("lane_bucket_ns");
  let at = 0;
  for (const lane of lanes) {
    const row = laneRow[lane] ?? 0;
    at = addSlices(boxes, at, row, head, array, ...rowsOf(sliceFrom, lane));
    at = addMerged(boxes, at, row, bucketNs[lane] ?? head.bucket_ns, head, array, ...rowsOf(mergedFrom, lane));
  }
  return boxes;
}

function addSlices(boxes: Boxes, from: number, row: number, head: TimelineHead, array: (name: string) => Numbers, first: number, end: number): number {
  const start = array("slice_start_ns");
  const dur = array("slice_dur_ns");
  const name = array("slice_name");
  const id = array("slice_id");
  const category = array("slice_category");
  let at = from;
  for (let index = first; index < end; index++, at++) {
    const startNs = head.start_ns + (start[index] ?? 0);
    boxes.startNs[at] = startNs;
    boxes.endNs[at] = startNs + (dur[index] ?? 0);
    boxes.lane[at] = row;
    boxes.category[at] = category[index] ?? 0;
    boxes.name[at] = name[index] ?? NO_NAME;
    boxes.id[at] = id[index] ?? NO_ID;
  }
  return at;
}

function addMerged(
  boxes: Boxes,
  from: number,
  row: number,
  bucketNs: number,
  head: TimelineHead,
  array: (name: string) => Numbers,
  first: number,
  end: number,
): number {
  const bucket = array("merged_bucket");
  const slices = array("merged_count");
  const busy = array("merged_busy");
  const category = array("merged_category");
  const originNs = Math.floor(head.start_ns / bucketNs) * bucketNs;
  let at = from;
  for (let index = first; index < end; index++, at++) {
    const startNs = originNs + (bucket[index] ?? 0) * bucketNs;
    boxes.startNs[at] = startNs;
    boxes.endNs[at] = startNs + bucketNs;
    boxes.lane[at] = row;
    boxes.category[at] = category[index] ?? 0;
    boxes.slices[at] = slices[index] ?? 0;
    // The last slice of a bucket may reach over its end; the block is full then.
    boxes.busy[at] = Math.min(1, (busy[index] ?? 0) / FULL_BUCKET);
  }
  return at;
}

function stairsOf(head: TimelineHead, array: (name: string) => Numbers, counter: number): Stairs {
  const from = array("counter_points");
  const [first, end] = [from[counter] ?? 0, from[counter + 1] ?? 0];
  const originNs = Math.floor(head.start_ns / head.counter_bucket_ns) * head.counter_bucket_ns;
  const part = (name: string) => Float32Array.from(array(name).subarray(first, end));
  const bucket = array("point_bucket").subarray(first, end);
  return {
    timeNs: Float64Array.from(bucket, (value) => originNs + value * head.counter_bucket_ns),
    min: part("point_min"),
    max: part("point_max"),
    last: part("point_last"),
  };
}

/** The same boxes, moved in time; not copied where the shift is zero. */
export function shiftBoxes(boxes: Boxes, shiftNs: number): Boxes {
  if (shiftNs === 0) return boxes;
  const moved = (timeNs: number) => timeNs + shiftNs;
  return { ...boxes, startNs: boxes.startNs.map(moved), endNs: boxes.endNs.map(moved) };
}

export function shiftStairs(stairs: Stairs, shiftNs: number): Stairs {
  return shiftNs === 0 ? stairs : { ...stairs, timeNs: stairs.timeNs.map((timeNs) => timeNs + shiftNs) };
}
