import { expect, it } from "vitest";

import { boxAt, neighbour } from "./hit";
import { boxTowards } from "./moving";
import { createBatch } from "./paint";
import type { Boxes, TrackTile } from "./tile";

type Box = readonly [lane: number, startNs: number, endNs: number, slices?: number];

function boxesOf(rows: readonly Box[]): Boxes {
  return {
    count: rows.length,
    startNs: Float64Array.from(rows, (row) => row[1]),
    endNs: Float64Array.from(rows, (row) => row[2]),
    lane: Uint16Array.from(rows, (row) => row[0]),
    category: new Uint8Array(rows.length),
    slices: Uint32Array.from(rows, (row) => row[3] ?? 1),
    busy: new Float32Array(rows.length).fill(1),
    name: new Uint32Array(rows.length),
    id: Uint32Array.from(rows, (_, index) => index),
  };
}

const BOXES = boxesOf([
  [0, 0, 100],
  [0, 100, 101],
  [0, 200, 300, 12],
  [1, 10, 40],
  [1, 50, 90],
]);

it.each([
  [0, 50, 1, 0],
  [0, 100.5, 1, 1],
  [0, 250, 1, 2],
  [1, 45, 1, null],
  [1, 42, 1, 3],
  [1, 49, 1, 4],
  [2, 50, 1, null],
])("in lane %d at %d (a pixel is %d ns) lies %s", (lane, time, pixel, box) => {
  expect(boxAt(BOXES, lane, time, pixel)).toBe(box);
});

it("a slice thinner than a pixel is hit on its pixel", () => {
  expect(boxAt(boxesOf([[0, 1000, 1001]]), 0, 1400, 500)).toBe(0);
});

it("neighbours are slices of the lane, in order of time", () => {
  expect(neighbour(BOXES, 0, 0, 1)).toBe(1);
  expect(neighbour(BOXES, 0, 100, 1), "a merged block is none").toBeNull();
  expect(neighbour(BOXES, 1, 50, -1)).toBe(3);
});

it("up leads to the parent and down to the first child", () => {
  const tile: TrackTile = {
    startNs: 0,
    endNs: 400,
    pixelNs: 1,
    boxes: BOXES,
    stairs: null,
    names: [],
    shortNames: [],
    demangledNames: [],
    nameCodes: new Uint32Array(),
    firstLane: 0,
    lastLane: 1,
    coarse: false,
    batch: createBatch(BOXES, 0, 400),
  };
  const at = (box: number) => ({ id: box, name: "", category: 0, track: "t", lane: BOXES.lane[box] ?? 0, start_ns: BOXES.startNs[box] ?? 0, dur_ns: (BOXES.endNs[box] ?? 0) - (BOXES.startNs[box] ?? 0), short_name: null, demangled_name: null });
  expect(boxTowards(tile, at(0), "down")).toBe(3);
  expect(boxTowards(tile, at(1), "down")).toBeNull();
  expect(boxTowards(tile, at(4), "up")).toBe(0);
  expect(boxTowards(tile, at(0), "up")).toBeNull();
  expect(boxTowards(tile, at(3), "right")).toBe(4);
});
