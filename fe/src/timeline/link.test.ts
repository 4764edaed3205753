import { expect, it } from "vitest";

import { arrangementPatch, asSelection, foldingPatch, formatRange, hullOf, parseArrangement, parseFolding, parseRange, parseSlice, rangeOnTimeline, selectedRanges, selectionRange } from "./link";

it.each([
  ["1-2", { startNs: 1, endNs: 2 }],
  ["-50-100", { startNs: -50, endNs: 100 }],
  ["-50--20", { startNs: -50, endNs: -20 }],
  ["2-1", null],
  ["5-5", null],
  ["1-2-3", null],
  ["<img>", null],
  [undefined, null],
])("the range %s", (text, range) => {
  expect(parseRange(text)).toEqual(range);
});

it("ranges and foldings survive formatting and parsing", () => {
  expect(parseRange(formatRange({ startNs: -12.4, endNs: 99.6 }))).toEqual({ startNs: -12, endNs: 100 });
  expect(parseRange(formatRange({ startNs: 5.1, endNs: 5.2 })), "never empty").not.toBeNull();
  const folding = { opened: new Set(["a", "g.b"]), closed: new Set(["c"]) };
  expect(parseFolding(foldingPatch(folding))).toEqual(folding);
  expect(parseFolding({})).toEqual({ opened: new Set(), closed: new Set() });
});

it("an arrangement survives formatting and parsing, and is bounded", () => {
  const arrangement = { pinned: ["rank%201/s7", "ops"], order: ["g.d0", "g.p1"], filter: "gpu stream" };
  expect(parseArrangement(arrangementPatch(arrangement))).toEqual(arrangement);
  expect(parseArrangement({})).toEqual({ pinned: [], order: [], filter: "" });
  const folding = { base: "none" as const, opened: new Set(["a"]), closed: new Set<string>() };
  expect(parseFolding(foldingPatch(folding))).toEqual(folding);
  const many = Array.from({ length: 5000 }, (_, index) => `t${index}`);
  const long = { pin: many.join(","), order: many.join(","), tracks: "x".repeat(5000), open: many.join(",") };
  expect(parseArrangement(long)).toMatchObject({ pinned: many.slice(0, 32), order: many.slice(0, 300), filter: "x".repeat(100) });
  expect(parseFolding(long).opened.size).toBe(500);
  expect(foldingPatch({ opened: new Set(many), closed: new Set() })["open"]?.split(",")).toEqual(many.slice(-500));
});

it("slices are whole numbers", () => {
  expect(parseSlice("17")).toBe(17);
  for (const text of [undefined, "", "-1", "1e3", "../17"]) expect(parseSlice(text)).toBeNull();
});

it("a range as selection is parsed as the same range", () => {
  const range = { startNs: 1_234_567, endNs: 2_000_001 };
  const params = asSelection(range, 987_654.321);
  expect(params["start_us"]).toBe("988888.888");
  const back = selectionRange(params["start_us"], params["end_us"], 987_654.321, 5e9);
  expect(back?.startNs).toBeCloseTo(range.startNs, 0);
  expect(back?.endNs).toBeCloseTo(range.endNs, 0);
  expect(selectionRange(undefined, undefined, 0, 10)).toBeNull();
  expect(selectionRange("0.002", undefined, 0, 10)).toEqual({ startNs: 2, endNs: 10 });
});

it("steps and a time range are intersected", () => {
  const steps = [
    { startNs: 0, endNs: 10 },
    { startNs: 20, endNs: 30 },
    { startNs: 40, endNs: 50 },
  ];
  expect(selectedRanges(null, null)).toBeNull();
  expect(selectedRanges(steps, null)).toBe(steps);
  expect(selectedRanges(null, { startNs: 1, endNs: 2 })).toEqual([{ startNs: 1, endNs: 2 }]);
  expect(selectedRanges(steps, { startNs: 5, endNs: 25 })).toEqual([
    { startNs: 5, endNs: 10 },
    { startNs: 20, endNs: 25 },
  ]);
  expect(selectedRanges(steps, { startNs: 11, endNs: 19 })).toEqual([]);
  expect([hullOf(steps), hullOf([]), hullOf(null)]).toEqual([{ startNs: 0, endNs: 50 }, null, null]);
});

it("a link to a range zooms with margins, marks it and selects its slice", () => {
  const params = rangeOnTimeline({ startNs: 10_000, endNs: 30_000 }, 17);
  expect(params).toEqual({ at: "0-40000", range: "10000-30000", slice: "17" });
  expect(rangeOnTimeline({ startNs: 100, endNs: 100 }, null)).toEqual({ at: "-900-1100", range: "100-101" });
  for (const text of [params["at"], params["range"]]) expect(parseRange(text)).not.toBeNull();
});
