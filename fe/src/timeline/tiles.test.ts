import { afterEach, expect, it, vi } from "vitest";

import { DEFAULT_FOLDING, layOut, visibleLanes } from "./layout";
import { TileLoader } from "./loader";
import { stackOf, type StackedWorker } from "./stack";
import { MAX_LOADED_WORKERS, StackTiles } from "./tiles";

const STEPS = { title: "steps", subtitle: null, kind: "steps", group: "p", help: null, lanes: 1, lane_titles: null, overlap_from: null, slices: 1, collapsed: false, communication: false, device: null, unit: null, unit_label: null, maximum: null } as const;

function worker(name: string): StackedWorker {
  const tracks = { trace: { run: "run", worker: name, span: "" }, end_ns: 100, origin_us: 0, slices: 1, overlapping: 0, tracks_left_out: 0, categories: [], groups: [], tracks: [{ ...STEPS, key: "s0" }] };
  return { worker: name, query: { worker: name }, tracks: tracks as unknown as StackedWorker["tracks"], offsetNs: 0, collectives: 1 };
}

afterEach(() => {
  vi.restoreAllMocks();
});

it("retains the tiles of the first worker and of those on screen last, of 64", () => {
  vi.spyOn(TileLoader.prototype, "requestMissing").mockImplementation(() => undefined);
  const cleared = vi.spyOn(TileLoader.prototype, "clear");
  const [first, ...others] = Array.from({ length: 64 }, (_, rank) => worker(`rank${rank}`));
  if (first === undefined) throw new Error("no worker");
  const stack = stackOf(first, others);
  const layout = layOut(stack.groups, stack.tracks, DEFAULT_FOLDING);
  const tiles = new StackTiles(stack, { onTile: vi.fn(), onRelease: vi.fn(), onChange: vi.fn() });
  for (const { topPx, heightPx } of layout.tracks) {
    const lanes = visibleLanes(layout, topPx + 1, topPx + heightPx - 1);
    expect(lanes).toHaveLength(1);
    tiles.requestMissing({ startNs: 0, endNs: 100 }, 800, lanes, true);
  }
  expect(cleared).toHaveBeenCalledTimes(63 - MAX_LOADED_WORKERS);
  expect(new Set(cleared.mock.contexts).size).toBe(63 - MAX_LOADED_WORKERS);
  // All of them at once on screen: none is dropped.
  cleared.mockClear();
  tiles.requestMissing({ startNs: 0, endNs: 100 }, 800, visibleLanes(layout, 0, layout.heightPx), true);
  expect(cleared).not.toHaveBeenCalled();
});
