import { describe, expect, it } from "vitest";

import type { TimelineGroupPayload, TimelineTrackPayload } from "../generated/schema";
import { AS_PROPOSED, canFold, fold, groupKey, laneAt, layOut, rowAt, visibleLanes, visibleTracks } from "./layout";

const GROUPS: TimelineGroupPayload[] = [
  { key: "trace", title: "Trace", kind: "trace", device: null },
  { key: "p1", title: "python 1", kind: "process", device: null },
  { key: "d0", title: "GPU 0", kind: "device", device: 0 },
];

function track(key: string, group: string, changes: Partial<TimelineTrackPayload> = {}): TimelineTrackPayload {
  return {
    key,
    title: key,
    subtitle: null,
    help: null,
    kind: "operators",
    group,
    lanes: 1,
    lane_titles: null,
    overlap_from: null,
    slices: 1,
    collapsed: false,
    communication: false,
    device: null,
    unit: null,
    maximum: null,
    ...changes,
  };
}

const TRACKS = [
  track("steps", "trace", { kind: "steps" }),
  track("ops", "p1", { lanes: 20 }),
  track("python", "p1", { kind: "python", lanes: 40, collapsed: true }),
  track("gpu", "d0", { kind: "counter", lanes: 1 }),
  track("s7", "d0", { kind: "device_stream", lanes: 2 }),
];

describe("layout", () => {
  const layout = layOut(GROUPS, TRACKS, AS_PROPOSED);

  it("stacks rows without gaps, groups above their tracks", () => {
    expect(layout.rows.map((row) => (row.kind === "group" ? row.group.key : row.track.key))).toEqual(["steps", "p1", "ops", "python", "d0", "gpu", "s7"]);
    let top = 0;
    for (const row of layout.rows) {
      expect(row.topPx).toBe(top);
      top += row.heightPx;
    }
    expect(layout.heightPx).toBe(top);
  });

  it("shows one lane of what the server proposes to collapse, and numbers as the server does", () => {
    expect(layout.tracks.map(({ number, lanes }) => [number, lanes])).toEqual([
      [0, 1],
      [1, 20],
      [2, 1],
      [3, 0],
      [4, 2],
    ]);
  });

  it("opens and closes what the reader wants, and back", () => {
    const opened = fold(AS_PROPOSED, "python", true);
    expect(layOut(GROUPS, TRACKS, opened).tracks[2]?.lanes).toBe(40);
    const closed = fold(opened, "python", false);
    expect(layOut(GROUPS, TRACKS, closed).tracks[2]?.lanes).toBe(1);
    const group = GROUPS[1];
    if (group === undefined) throw new Error("no group");
    const folded = layOut(GROUPS, TRACKS, fold(AS_PROPOSED, groupKey(group), false));
    expect(folded.tracks.map(({ track: each }) => each.key)).toEqual(["steps", "gpu", "s7"]);
  });

  it("folds only what has several lanes", () => {
    expect(TRACKS.map(canFold)).toEqual([false, true, true, false, true]);
  });

  it("finds rows and lanes by height", () => {
    const ops = layout.tracks[1];
    if (ops === undefined) throw new Error("no row");
    expect(rowAt(layout, ops.topPx)).toBe(ops);
    expect(rowAt(layout, layout.heightPx)).toBeNull();
    expect(laneAt(ops, 3 + 18 * 4)).toBe(4);
    expect(laneAt(ops, -10)).toBe(0);
    expect(laneAt(ops, 10_000)).toBe(19);
    expect(visibleTracks(layout, ops.topPx, ops.topPx + 1)).toEqual([ops]);
  });

  it("asks for lanes in blocks, the visible ones included", () => {
    const ops = layout.tracks[1];
    if (ops === undefined) throw new Error("no row");
    const [range] = visibleLanes(layout, ops.topPx + 3 + 18 * 9, ops.topPx + 3 + 18 * 11);
    expect(range).toEqual({ row: ops, firstLane: 8, lastLane: 15 });
    const [last] = visibleLanes(layout, ops.topPx + 3 + 18 * 18, ops.topPx + 3 + 18 * 19);
    expect(last?.lastLane).toBe(19);
  });
});
