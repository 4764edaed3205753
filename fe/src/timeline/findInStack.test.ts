import { describe, expect, it } from "vitest";

import { ApiError } from "../api/client";
import type { TimelineSearchAnswer, TimelineSlicePayload } from "../generated/schema";
import { nearestHit, searchQuery, resultInStack } from "./findInStack";
import type { Stack, StackPart } from "./stack";

const tracks = { schema_version: 1, trace: { run: "r", worker: "w", span: "1" }, end_ns: 1000, origin_us: 0, slices: 0, overlapping: 0, tracks_left_out: 0, categories: [], groups: [], tracks: [] };

function part(worker: string, shiftNs: number): StackPart {
  return { worker, query: { worker }, tracks, clock: "aligned", shiftNs, prefix: `${worker}/`, firstTrack: 0 };
}

function stackOfParts(...[first, ...others]: [StackPart, ...StackPart[]]): Stack {
  return { parts: [first, ...others], bands: [], groups: [], tracks: [], endNs: 1000, originUs: 0 };
}

function slice(id: number, startNs: number): TimelineSlicePayload {
  return { id, name: "gemm", category: 0, track: "t", lane: 0, start_ns: startNs, dur_ns: 5, short_name: null, demangled_name: null };
}

function answer(hits: readonly TimelineSlicePayload[], before: number, includesOrigin = false): TimelineSearchAnswer {
  const after = before + Number(includesOrigin);
  const names = [{ name: "gemm", code: 0, count: hits.length, short_name: null, demangled_name: null }];
  return { schema_version: 1, query: "gemm", count: hits.length, position: after, name_count: 1, name_codes: [0], names, hits: [...hits], next: hits[after] ?? null, previous: hits[before - 1] ?? null };
}

const upper = part("a", 0);
const lower = part("b", 100);
const stack = stackOfParts(upper, lower);

describe("each worker is queried", () => {
  it("from the start when no slice is selected", () => {
    expect([upper, lower].map((each) => searchQuery(stack, each, "gemm", null))).toEqual([
      { worker: "a", q: "gemm", from_ns: -1 },
      { worker: "b", q: "gemm", from_ns: -1 },
    ]);
  });

  it("in its own time; of hits that begin together the upper one is first", () => {
    expect(searchQuery(stack, lower, "gemm", { part: upper, id: 7, startNs: 300 })).toEqual({ worker: "b", q: "gemm", from_ns: 200 });
    expect(searchQuery(stack, upper, "gemm", { part: lower, id: 7, startNs: 300 })).toEqual({ worker: "a", q: "gemm", from_ns: 301 });
    expect(searchQuery(stack, lower, "gemm", { part: lower, id: 7, startNs: 300 })).toEqual({ worker: "b", q: "gemm", from_slice: 7 });
  });
});

describe("their hits", () => {
  const upperHits = [slice(1, 50), slice(2, 250)];
  const lowerHits = [slice(1, 0), slice(2, 200)]; // on screen at 100 and 300

  it("are ordered on the common clock", () => {
    const result = resultInStack([
      { part: upper, answer: answer(upperHits, 0, true) },
      { part: lower, answer: answer(lowerHits, 0) },
    ]);
    expect([result.count, result.position, result.nameCount, result.problems]).toEqual([4, 1, 1, []]);
    expect([result.next?.part.worker, result.next?.slice]).toEqual(["b", { ...slice(1, 100), track: "b/t" }]);
    expect([result.previous?.part.worker, result.previous?.slice.start_ns]).toEqual(["b", 300]);
    expect(result.hits.map(({ track, start_ns: startNs }) => [track, startNs])).toEqual([["a/t", 50], ["a/t", 250], ["b/t", 100], ["b/t", 300]]);
  });

  it("continue with the first after the last", () => {
    const result = resultInStack([
      { part: upper, answer: answer(upperHits, 2) },
      { part: lower, answer: answer(lowerHits, 1, true) },
    ]);
    expect([result.position, result.next?.slice.start_ns, result.previous?.slice.start_ns]).toEqual([4, 50, 250]);
  });

  it("name the workers whose answer is missing", () => {
    const failed = new ApiError({ code: "gone", message: "no file", hint: "" }, 404);
    const result = resultInStack([
      { part: upper, answer: answer(upperHits, 0) },
      { part: lower, answer: failed },
    ]);
    expect([result.count, result.problems]).toEqual([2, ["b: no file"]]);
  });

  it("are downsampled evenly where they are too many to draw", () => {
    const many = (count: number) => answer(Array.from({ length: count }, (_, index) => slice(index, index)), 0);
    const { hits, count } = resultInStack([
      { part: upper, answer: many(2000) },
      { part: lower, answer: many(1000) },
    ]);
    expect(count).toBe(3000);
    expect(hits.length).toBeLessThanOrEqual(2000);
    expect(hits.filter(({ track }) => track === "b/t").length).toBeCloseTo(667, -1);
    expect(hits.filter(({ track }) => track === "a/t").at(-1)?.start_ns).toBeGreaterThan(1990);
  });
});

it("the nearest slice of a name is on whichever worker has it, without wrapping around", () => {
  const answers = [
    { part: upper, answer: answer([slice(1, 50), slice(2, 250)], 1) },
    { part: lower, answer: answer([slice(1, 0), slice(2, 140)], 1) },
  ];
  const nextMatch = (direction: 1 | -1) => {
    const hit = nearestHit(answers, direction);
    return hit === null ? null : [hit.part.worker, hit.slice.id, hit.slice.start_ns];
  };
  expect(nextMatch(1)).toEqual(["b", 2, 240]);
  expect(nextMatch(-1)).toEqual(["b", 1, 100]);
  expect(nearestHit([{ part: upper, answer: answer([slice(1, 50)], 1) }], 1)).toBeNull();
});
