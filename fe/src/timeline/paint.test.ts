import { expect, it } from "vitest";

import type { ColorMode, Palette } from "./colors";
import { durationClasses } from "./durationColors";
import { createBatch, paintTile } from "./paint";
import type { TrackTile } from "./tile";

it("idle time retains its colour when slices are coloured by name or duration", () => {
  const palette: Palette = { dark: false, background: [255, 255, 255], raised: "", surface: "", line: "", lineStrong: "", text: "", soft: "", accent: "", warn: "", color: (variable) => (variable === "--line" ? [1, 2, 3] : [4, 5, 6]) };
  const boxes = { count: 1, category: Uint8Array.of(0), name: Uint32Array.of(0), slices: Uint32Array.of(1), lane: Uint16Array.of(0), startNs: Float64Array.of(0), endNs: Float64Array.of(5), id: Uint32Array.of(0), busy: Float32Array.of(1) };
  const painted = (key: string, mode: ColorMode = "name") => {
    const tile: TrackTile = { startNs: 0, endNs: 10, pixelNs: 1, boxes, stairs: null, names: ["Idle"], shortNames: [null], demangledNames: [null], nameCodes: Uint32Array.of(0), firstLane: 0, lastLane: 0, coarse: false, batch: createBatch(boxes, 0, 10) };
    paintTile(tile, { palette, mode, categories: [{ key, title: "" }], matches: null });
    return Array.from(tile.batch.paints.slice(0, 3));
  };
  expect(painted("merged_idle")).toEqual([1, 2, 3]);
  expect(painted("operator")).not.toEqual([4, 5, 6]);
  expect(painted("merged_idle", "duration")).toEqual([1, 2, 3]);
  expect(painted("operator", "duration")).toEqual(durationClasses(false)[0]?.color);
});
