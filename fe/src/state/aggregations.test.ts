import { expect, it } from "vitest";

import { formatFragment, parseFragment } from "./address";
import { formatAggregations, isCurrent, MAX_AGGREGATIONS, parseAggregations, renamed, withAggregation, type Aggregation } from "./aggregations";

const WARM: Aggregation = { name: "warm; a,b=%3B", cut: "name:a::b,c;d", steps: "5:8,10" };
const ALL: Aggregation = { name: "all", cut: null, steps: null };

it("stands in the address and comes back as it was", () => {
  const text = formatAggregations([WARM, ALL]);
  expect(parseAggregations(text)).toEqual([WARM, ALL]);
  const address = formatFragment({ aggregations: text });
  expect(parseAggregations(parseFragment(`#${address}`)["aggregations"])).toEqual([WARM, ALL]);
  expect(parseAggregations(undefined)).toEqual([]);
  expect(formatAggregations([])).toBe("");
});

it("reads what somebody cut or wrote by hand", () => {
  expect(parseAggregations("x,%E2%8;auto,;;,x;y;z")).toEqual([
    { name: "x", cut: null, steps: null },
    { name: "%E2%8", cut: "auto", steps: null },
  ]);
  const many = Array.from({ length: 99 }, (_, place) => `n${place}`).join(",");
  expect(parseAggregations(many)).toHaveLength(MAX_AGGREGATIONS);
});

it("knows which one is looked at", () => {
  expect(isCurrent(ALL, { view: "iterations" })).toBe(true);
  expect(isCurrent(WARM, { iterations_by: "name:a::b,c;d", steps: "5:8,10" })).toBe(true);
  expect(isCurrent(WARM, { steps: "5:8,10" })).toBe(false);
});

it("adds, replaces and renames, and keeps names apart", () => {
  expect(withAggregation([ALL], { ...WARM, name: " all " })).toEqual([{ ...WARM, name: "all" }]);
  expect(withAggregation([ALL], WARM)).toEqual([ALL, WARM]);
  expect(withAggregation([ALL], { ...WARM, name: " " })).toEqual([ALL]);
  expect(renamed([ALL, WARM], "all", "first")).toEqual([{ ...ALL, name: "first" }, WARM]);
  expect(renamed([ALL, WARM], "all", WARM.name)).toEqual([ALL, WARM]);
});
