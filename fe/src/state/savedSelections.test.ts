import { expect, it } from "vitest";

import { formatFragment, parseFragment } from "./address";
import { formatSavedSelections, isCurrent, MAX_SAVED, parseSavedSelections, renameSelection, addSelection, type SavedSelection } from "./savedSelections";

const WARM: SavedSelection = { name: "warm; a,b=%3B", iterationsBy: "name:a::b,c;d", steps: "5:8,10" };
const ALL: SavedSelection = { name: "all", iterationsBy: null, steps: null };

it("survives formatting and parsing", () => {
  const text = formatSavedSelections([WARM, ALL]);
  expect(parseSavedSelections(text)).toEqual([WARM, ALL]);
  const address = formatFragment({ aggregations: text });
  expect(parseSavedSelections(parseFragment(`#${address}`)["aggregations"])).toEqual([WARM, ALL]);
  expect(parseSavedSelections(undefined)).toEqual([]);
  expect(formatSavedSelections([])).toBe("");
});

it("reads texts that were truncated or written by hand", () => {
  expect(parseSavedSelections("x,%E2%8;auto,;;,x;y;z")).toEqual([
    { name: "x", iterationsBy: null, steps: null },
    { name: "%E2%8", iterationsBy: "auto", steps: null },
  ]);
  const many = Array.from({ length: 99 }, (_, index) => `n${index}`).join(",");
  expect(parseSavedSelections(many)).toHaveLength(MAX_SAVED);
});

it("knows which one is current", () => {
  expect(isCurrent(ALL, { view: "iterations" })).toBe(true);
  expect(isCurrent(WARM, { iterations_by: "name:a::b,c;d", steps: "5:8,10" })).toBe(true);
  expect(isCurrent(WARM, { steps: "5:8,10" })).toBe(false);
});

it("adds, replaces and renames; names stay distinct", () => {
  expect(addSelection([ALL], { ...WARM, name: " all " })).toEqual([{ ...WARM, name: "all" }]);
  expect(addSelection([ALL], WARM)).toEqual([ALL, WARM]);
  expect(addSelection([ALL], { ...WARM, name: " " })).toEqual([ALL]);
  expect(renameSelection([ALL, WARM], "all", "first")).toEqual([{ ...ALL, name: "first" }, WARM]);
  expect(renameSelection([ALL, WARM], "all", WARM.name)).toEqual([ALL, WARM]);
});
