import { describe, expect, it } from "vitest";

import { layOut, DEFAULT_FOLDING, type TrackRow } from "./layout";
import { firstOnScreen, sliceTowards } from "./moving";
import { createBatch } from "./paint";
import type { TrackTiles } from "./tile";
import { NO_ID, type Boxes, type TrackTile } from "./tile";

/** Boxes by lane, start, end; several slices are a merged block. */
type Row = readonly [lane: number, startNs: number, endNs: number, slices?: number, id?: number];

function tileOf(rows: readonly Row[]): TrackTile {
  const boxes: Boxes = {
    count: rows.length,
    lane: Uint16Array.from(rows, ([lane]) => lane),
    startNs: Float64Array.from(rows, ([, startNs]) => startNs),
    endNs: Float64Array.from(rows, ([, , endNs]) => endNs),
    slices: Uint32Array.from(rows, ([, , , slices = 1]) => slices),
    id: Uint32Array.from(rows, ([, , , , id], index) => id ?? index),
    name: new Uint32Array(rows.length),
    category: new Uint8Array(rows.length),
    busy: new Float32Array(rows.length).fill(1),
  };
  return { startNs: 0, endNs: 1000, pixelNs: 1, boxes, stairs: null, names: ["x"], shortNames: [null], demangledNames: [null], nameCodes: Uint32Array.of(0), firstLane: 0, lastLane: 9, coarse: false, batch: createBatch(boxes, 0, 1000) };
}

const shared = { title: "", subtitle: null, help: null, kind: "operators" as const, group: "g", lane_titles: null, overlap_from: null, slices: 9, collapsed: false, communication: false, device: null, unit: null, unit_label: null, maximum: null };
const { tracks: rows } = layOut(
  [{ key: "g", title: "", kind: "process", device: null }],
  [
    { ...shared, key: "sums", lanes: 1 },
    { ...shared, key: "ops", lanes: 3 },
    { ...shared, key: "gpu", lanes: 2 },
  ],
  DEFAULT_FOLDING,
);
const TILES = new Map([
  ["sums", tileOf([[0, 0, 900, 1, NO_ID]])],
  ["ops", tileOf([[0, 100, 200, 5], [0, 300, 400], [1, 310, 350], [0, 500, 700], [2, 510, 520]])],
  ["gpu", tileOf([[0, 20, 60], [1, 640, 660]])],
]);
const tilesOf = ({ track }: TrackRow): TrackTiles => ({ sharp: null, fine: TILES.get(track.key) ?? null, whole: null });
const SCREEN = { startNs: 50, endNs: 1000 };
const first = firstOnScreen(rows, tilesOf, SCREEN);

it("the first slice on screen is in the uppermost lane that has one; sums and merged blocks are skipped", () => {
  expect(first).toMatchObject({ track: "ops", lane: 0, start_ns: 300, id: 1 });
  expect(firstOnScreen(rows, tilesOf, { startNs: 50, endNs: 90 })).toMatchObject({ track: "gpu", start_ns: 20 });
  expect(firstOnScreen(rows, tilesOf, { startNs: 960, endNs: 990 })).toBeNull();
});

describe("from a slice", () => {
  const from = (track: string, id: number) => {
    const target = rows.find((row) => row.track.key === track);
    const tile = TILES.get(track);
    if (target === undefined || tile === undefined) throw new Error("no such track");
    const [startNs, endNs] = [tile.boxes.startNs[id] ?? 0, tile.boxes.endNs[id] ?? 0];
    return { id, name: "x", short_name: null, demangled_name: null, category: 0, track, lane: tile.boxes.lane[id] ?? 0, start_ns: startNs, dur_ns: endNs - startNs };
  };
  const to = (track: string, id: number, direction: "left" | "right" | "up" | "down") => {
    const next = sliceTowards(rows, tilesOf, from(track, id), direction, SCREEN);
    return next === null ? null : `${next.track} ${next.lane} ${next.start_ns}`;
  };

  it("left and right stay in the lane", () => {
    expect([to("ops", 1, "right"), to("ops", 3, "left"), to("ops", 1, "left"), to("ops", 3, "right")]).toEqual(["ops 0 500", "ops 0 300", null, null]);
  });

  it("up and down follow the nesting, then lead to the nearest slice of another lane or track", () => {
    expect(to("ops", 1, "down"), "its child").toBe("ops 1 310");
    expect(to("ops", 2, "up"), "its parent").toBe("ops 0 300");
    expect(to("ops", 3, "down"), "no child, yet a lane below").toBe("ops 2 510");
    expect(to("ops", 4, "down"), "the next track, nearest in time").toBe("gpu 1 640");
    expect(to("gpu", 0, "up"), "the track above").toBe("ops 0 300");
    expect(to("gpu", 1, "down")).toBeNull();
  });
});
