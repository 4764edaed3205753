import { expect, it } from "vitest";

import { formatShown, formatWidths, parseChoices } from "./columnChoices";

it("survives writing and reading", () => {
  const choices = parseChoices("+median_us,-block", "name:420,total_us:90");
  expect([...choices.shown]).toEqual([["median_us", true], ["block", false]]);
  expect([...choices.widths]).toEqual([["name", 420], ["total_us", 90]]);
  expect(parseChoices(formatShown(choices), formatWidths(choices))).toEqual(choices);
});

it("ignores excessive or invalid entries", () => {
  const hostile = parseChoices("+,-<img>,calls,+a b,-calls", "name:1e9,name:99999,x:2,:5,y:-5");
  expect([...hostile.shown]).toEqual([["calls", false]]);
  expect([...hostile.widths]).toEqual([["name", 4000], ["x", 48]]);
  expect(parseChoices(Array.from({ length: 5000 }, (_, index) => `+k${index}`).join(","), "").shown.size).toBe(100);
});
