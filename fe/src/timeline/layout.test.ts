import { describe, expect, it } from "vitest";

import type { TimelineGroupPayload, TimelineTrackPayload } from "../generated/schema";
import { DEFAULT_ARRANGEMENT } from "./arrangement";
import { ALL_CLOSED, ALL_OPEN, DEFAULT_FOLDING, canFold, fold, groupKey, laneAt, layOut, rowAt, stickyOf, visibleLanes, visibleTracks } from "./layout";

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
    unit_label: null,
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
  const layout = layOut(GROUPS, TRACKS, DEFAULT_FOLDING);

  it("stacks rows without gaps, groups above their tracks", () => {
    expect(layout.rows.map((row) => (row.kind === "group" ? row.group.key : row.track.key))).toEqual(["steps", "p1", "ops", "python", "d0", "gpu", "s7"]);
    let top = 0;
    for (const row of layout.rows) {
      expect(row.topPx).toBe(top);
      top += row.heightPx;
    }
    expect(layout.heightPx).toBe(top);
  });

  it("shows one lane of tracks that are collapsed by default, and numbers them as the server does", () => {
    expect(layout.tracks.map(({ number, lanes }) => [number, lanes])).toEqual([
      [0, 1],
      [1, 20],
      [2, 1],
      [3, 0],
      [4, 2],
    ]);
  });

  it("opens and closes tracks, and back", () => {
    const opened = fold(DEFAULT_FOLDING, "python", true);
    expect(layOut(GROUPS, TRACKS, opened).tracks[2]?.lanes).toBe(40);
    const closed = fold(opened, "python", false);
    expect(layOut(GROUPS, TRACKS, closed).tracks[2]?.lanes).toBe(1);
    const group = GROUPS[1];
    if (group === undefined) throw new Error("no group");
    const folded = layOut(GROUPS, TRACKS, fold(DEFAULT_FOLDING, groupKey(group), false));
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

  it("requests lanes in blocks, the visible ones included", () => {
    const ops = layout.tracks[1];
    if (ops === undefined) throw new Error("no row");
    const [range] = visibleLanes(layout, ops.topPx + 3 + 18 * 9, ops.topPx + 3 + 18 * 11);
    expect(range).toEqual({ row: ops, firstLane: 8, lastLane: 15 });
    const [last] = visibleLanes(layout, ops.topPx + 3 + 18 * 18, ops.topPx + 3 + 18 * 19);
    expect(last?.lastLane).toBe(19);
  });
});

describe("an arrangement", () => {
  const keysOf = (...[groups, tracks, folding, arrangement]: Parameters<typeof layOut>) =>
    layOut(groups, tracks, folding, arrangement).rows.map((row) => (row.kind === "group" ? row.group.key : row.track.key));

  it("pins tracks above all groups, in the order of the pins", () => {
    const arrangement = { ...DEFAULT_ARRANGEMENT, pinned: ["s7", "python", "unknown"] };
    const layout = layOut(GROUPS, TRACKS, DEFAULT_FOLDING, arrangement);
    expect(keysOf(GROUPS, TRACKS, DEFAULT_FOLDING, arrangement)).toEqual(["s7", "python", "steps", "p1", "ops", "d0", "gpu"]);
    expect(layout.tracks.map(({ pinned }) => pinned)).toEqual([true, true, false, false, false]);
    expect(layout.tracks[0]).toMatchObject({ number: 4, home: "GPU 0", topPx: 0 });
  });

  it("shows pinned tracks on top as long as they leave room for others", () => {
    const layout = layOut(GROUPS, TRACKS, DEFAULT_FOLDING, { ...DEFAULT_ARRANGEMENT, pinned: ["s7", "ops"] });
    const [stream, operators] = layout.tracks;
    const both = (operators?.topPx ?? 0) + (operators?.heightPx ?? 0);
    expect(stickyOf(layout, 2 * both)).toBe(both);
    expect(stickyOf(layout, 300)).toBe(stream?.heightPx);
    expect(stickyOf(layout, 20)).toBe(0);
    expect(stickyOf(layOut(GROUPS, TRACKS, DEFAULT_FOLDING), 1000)).toBe(0);
    const sticky = stickyOf(layout, 300);
    const scrolled = layout.heightPx - 50;
    expect(visibleTracks(layout, scrolled, scrolled + 50, sticky)[0]).toBe(stream);
    expect(visibleLanes(layout, scrolled, scrolled + 50, sticky)[0]).toEqual({ row: stream, firstLane: 0, lastLane: 1 });
  });

  it("shows matching tracks, also of folded groups, and pinned tracks always", () => {
    const closed = fold(DEFAULT_FOLDING, "g.d0", false);
    expect(keysOf(GROUPS, TRACKS, ALL_CLOSED, { ...DEFAULT_ARRANGEMENT, filter: "gpu 0" })).toEqual(["d0", "gpu", "s7"]);
    expect(keysOf(GROUPS, TRACKS, DEFAULT_FOLDING, { ...DEFAULT_ARRANGEMENT, filter: "OPS", pinned: ["s7"] })).toEqual(["s7", "p1", "ops"]);
    expect(keysOf(GROUPS, TRACKS, closed, { ...DEFAULT_ARRANGEMENT, filter: "s7" }), "what the reader closed stays so").toEqual(["d0"]);
    expect(keysOf(GROUPS, TRACKS, DEFAULT_FOLDING, { ...DEFAULT_ARRANGEMENT, filter: "nothing of the kind" })).toEqual([]);
  });

  it("moves tracks in their groups, and groups with their tracks", () => {
    expect(keysOf(GROUPS, TRACKS, DEFAULT_FOLDING, { ...DEFAULT_ARRANGEMENT, order: ["python", "ops", "g.d0", "g.p1"] })).toEqual(["steps", "d0", "gpu", "s7", "p1", "python", "ops"]);
    const inner = [...GROUPS, { key: "in", title: "Other", kind: "process" as const, device: null, parent: "p1" }];
    expect(keysOf(inner, [...TRACKS, track("x", "in")], DEFAULT_FOLDING, { ...DEFAULT_ARRANGEMENT, order: ["g.d0", "g.p1"] })).toEqual(["steps", "d0", "gpu", "s7", "p1", "ops", "python", "in", "x"]);
  });

  it("opens or closes all, and then each separately", () => {
    expect(layOut(GROUPS, TRACKS, ALL_OPEN).tracks.map(({ lanes }) => lanes)).toEqual([1, 20, 40, 0, 2]);
    expect(keysOf(GROUPS, TRACKS, ALL_CLOSED)).toEqual(["steps", "p1", "d0"]);
    expect(keysOf(GROUPS, TRACKS, fold(ALL_CLOSED, "g.d0", true))).toEqual(["steps", "p1", "d0", "gpu", "s7"]);
    expect(layOut(GROUPS, TRACKS, fold(ALL_OPEN, "ops", false)).tracks.map(({ lanes }) => lanes)).toEqual([1, 1, 40, 0, 2]);
  });
});
