import { describe, expect, it } from "vitest";

import type { TimelineTrackKind, TimelineTrackPayload, TimelineTracksAnswer } from "../generated/schema";
import { DEFAULT_FOLDING, fold, groupKey, layOut, uncover } from "./layout";
import { formatStack, parseStack } from "./link";
import { arrowsOnScreen, fromPart, inPart, onScreen, partOf, stackOf, workerOfBand, type StackedWorker } from "./stack";

function track(key: string, kind: TimelineTrackKind, group: string, lanes: number): TimelineTrackPayload {
  const rest = { subtitle: null, help: null, lane_titles: null, overlap_from: null, slices: 1, collapsed: false, communication: false, device: null, unit: null, unit_label: null, maximum: null };
  return { ...rest, key, title: key, kind, group, lanes };
}

const GPU_TRACKS = [track("steps", "steps", "trace", 1), track("ops", "operators", "p1", 9), track("merged", "merged", "d0", 4), track("s7", "device_stream", "d0", 1), track("util", "counter", "d0", 1)];
const CPU_TRACKS = [track("steps", "steps", "trace", 1), track("ops", "operators", "p1", 9), track("py", "python", "p1", 40)];

function worker(name: string, offsetNs: number | null, originUs: number, endNs: number, tracks = GPU_TRACKS): StackedWorker {
  const answer: TimelineTracksAnswer = {
    schema_version: 1,
    trace: { run: "r", worker: name, span: "1" },
    end_ns: endNs,
    origin_us: originUs,
    slices: 1,
    overlapping: 0,
    tracks_left_out: 0,
    categories: [],
    groups: [
      { key: "trace", title: "Trace", kind: "trace", device: null },
      { key: "p1", title: "python 1", kind: "process", device: null },
      { key: "d0", title: "GPU 0", kind: "device", device: 0 },
    ],
    tracks,
  };
  return { worker: name, query: { worker: name }, tracks: answer, offsetNs, collectives: 5 };
}

describe("a stack of one", () => {
  it("is the timeline of the worker, not shifted", () => {
    const one = worker("a", 0, 1000, 50);
    const stack = stackOf(one);
    expect(stack.tracks).toBe(one.tracks.tracks);
    expect([stack.endNs, stack.originUs, stack.parts[0].shiftNs, stack.parts[0].prefix]).toEqual([50, 1000, 0, ""]);
  });
});

describe("a stack of three", () => {
  // On the first one's clock: a 0–100, b −30–20 (by its collectives), c 200–260 (by its own clock, 0.2 µs later).
  const stack = stackOf(worker("a", 0, 1000, 100), [worker("b", -30, 7_777_777, 50, CPU_TRACKS), worker("c", null, 1000.2, 60)]);
  const [a, b, c] = stack.parts;
  if (b === undefined || c === undefined) throw new Error("parts are missing");

  it("begins with the earliest and ends with the last", () => {
    expect(stack.parts.map(({ shiftNs }) => shiftNs)).toEqual([30, 0, 230]);
    expect(stack.endNs).toBe(290);
    expect(stack.originUs).toBeCloseTo(1000 - 0.03, 9);
  });

  it("notes whose clock is unknown", () => {
    expect(stack.parts.map(({ clock }) => clock)).toEqual(["reference", "aligned", "recorded"]);
    const notes = stack.groups.flatMap(({ note }) => (note === undefined ? [] : [note]));
    expect(notes.map(({ warns }) => warns)).toEqual([false, false, true]);
    expect(notes[1]?.help).toContain("5 common collectives");
  });

  it("continues the numbers of tracks, and maps a track to its worker", () => {
    expect(stack.parts.map(({ firstTrack }) => firstTrack)).toEqual([0, 5, 8]);
    expect(stack.tracks.length).toBe(13);
    expect(stack.parts.map((part) => partOf(stack, stack.tracks[part.firstTrack]?.key ?? ""))).toEqual([a, b, c]);
  });

  it("shows steps and devices, operators where there is no device, one lane each, and folds the rest", () => {
    const seen = layOut(stack.groups, stack.tracks, DEFAULT_FOLDING).rows.map((row) => (row.kind === "group" ? row.group.title : `${row.track.title} ${row.lanes}`));
    const gpu = ["steps 1", "merged 1", "s7 1", "Other tracks"];
    expect(seen).toEqual(["a", ...gpu, "b", "steps 1", "ops 1", "Other tracks", "c", ...gpu]);
  });

  it("folds a worker away with all that is in it", () => {
    const folding = fold(DEFAULT_FOLDING, groupKey({ key: `${b.prefix}shown` }), false);
    const titles = layOut(stack.groups, stack.tracks, folding).rows.flatMap((row) => (row.kind === "group" ? [row.group.title] : []));
    expect(titles).toEqual(["a", "Other tracks", "b", "c", "Other tracks"]);
  });

  it("uncovers a track in folded groups, and no more", () => {
    const folding = fold(DEFAULT_FOLDING, groupKey({ key: `${b.prefix}shown` }), false);
    const python = stack.tracks.find(({ key }) => key === "b/py");
    if (python === undefined) throw new Error("no such track");
    const shown = layOut(stack.groups, stack.tracks, uncover(stack.groups, python, folding));
    expect(shown.tracks.map(({ track: { key } }) => key)).toContain("b/py");
    expect(shown.tracks.length).toBe(3 + CPU_TRACKS.length + 3);
    expect(uncover(stack.groups, python, uncover(stack.groups, python, folding))).toEqual(uncover(stack.groups, python, folding));
  });

  it("draws arrows to stacked workers only", () => {
    const slice = { id: 3, name: "all_reduce", category: 0, track: "s7", lane: 0, start_ns: 10, dur_ns: 4, short_name: null, demangled_name: null };
    // In c's own time it begins at 50; the answer moved it by 7 so that both end together.
    const arrow = (to: string | null) => ({ kind: "collective" as const, source: slice, target: { ...slice, start_ns: 57 }, worker: to, moved_ns: to === null ? 0 : 7 });
    const [within, across, ...rest] = arrowsOnScreen(stack, a, [arrow(null), arrow("c"), arrow("d")]);
    expect(rest).toEqual([]);
    expect([within?.source.start_ns, within?.target.start_ns, within?.target.track]).toEqual([40, 87, "a/s7"]);
    expect([across?.source.track, across?.target.start_ns, across?.target.track]).toEqual(["a/s7", 280, "c/s7"]);
  });

  it("shifts times to the screen and back", () => {
    const slice = { id: 3, name: "x", category: 0, track: "s7", lane: 0, start_ns: 10, dur_ns: 4, short_name: null, demangled_name: null };
    expect(onScreen(c, slice)).toEqual({ ...slice, track: "c/s7", start_ns: 240 });
    const range = { startNs: 235, endNs: 250 };
    expect(inPart(c, range)).toEqual({ startNs: 5, endNs: 20 });
    expect(fromPart(c, inPart(c, range))).toEqual(range);
  });
});

it("workers with any name are parsed from the address, and stay distinct", () => {
  const names = ["a,b", "a/b", "a", "100%", "<img>"];
  expect([...parseStack(formatStack(names))]).toEqual(names);
  expect([...parseStack("%zz,b")]).toEqual(["%zz", "b"]);
  const stack = stackOf(worker("a", 0, 0, 1), [worker("a/b", 0, 0, 1)]);
  expect(stack.tracks.map(({ key }) => partOf(stack, key).worker)).toEqual([...Array<string>(5).fill("a"), ...Array<string>(5).fill("a/b")]);
});

describe("bands of ranks", () => {
  const band = (rank: number, offsetNs: number | null) => ({ worker: `w/${rank}`, title: `rank ${rank}`, query: { worker: `w/${rank}` }, originUs: 1000 + rank, endNs: 40, offsetNs, uncertaintyNs: 2500 });
  const stack = stackOf(worker("w/0", 0, 1000, 100), [], [band(0, 0), band(1, -50), band(2, null)]);

  it("lie below the tracks, on one clock, whichever rank began first", () => {
    expect(stack.parts.map(({ shiftNs }) => shiftNs)).toEqual([50]);
    expect(stack.bands.map(({ shiftNs }) => shiftNs)).toEqual([50, 0, 2050]);
    expect(stack.endNs).toBe(2090);
    expect(stack.bands.map(({ firstTrack }) => firstTrack)).toEqual([5, 6, 7]);
    expect(stack.tracks.slice(5).map(({ title, lanes }) => [title, lanes])).toEqual([["rank 0", 1], ["rank 1", 1], ["rank 2", 1]]);
    expect(stack.bands.map(({ query }) => query["band"])).toEqual(["1", "1", "1"]);
  });

  it("are found by their keys, which no worker's tracks have", () => {
    const keys = stack.tracks.map(({ key }) => key);
    expect(new Set(keys).size).toBe(keys.length);
    expect(keys.map(workerOfBand)).toEqual([...Array<null>(5).fill(null), "w/0", "w/1", "w/2"]);
    expect(keys.slice(4).map((key) => partOf(stack, key))).toEqual([stack.parts[0], ...stack.bands]);
  });

  it("warn of clocks that are not aligned, and say how certain the others are", () => {
    expect(stack.groups.at(-1)).toMatchObject({ title: "3 ranks", note: { text: "1 not aligned", warns: true } });
    const aligned = stackOf(worker("w/0", 0, 1000, 100), [], [band(1, -50)]).groups.at(-1);
    expect(aligned?.note?.help).toContain("at most 2.50 µs");
  });

  it("take a row each, however many they are", () => {
    const many = stackOf(worker("w/0", 0, 1000, 100), [], Array.from({ length: 1024 }, (_, rank) => band(rank, 0)));
    const layout = layOut(many.groups, many.tracks, DEFAULT_FOLDING);
    expect(layout.tracks.filter(({ track: { key } }) => workerOfBand(key) !== null).length).toBe(1024);
  });
});
