import { expect, it } from "vitest";

import { shownWidths } from "./shownWidths";

const PARTS = [
  { name: "kernels", pct: 20 },
  { name: "copies", pct: 5 },
  { name: "unknown", pct: null },
  { name: "idle", pct: 74 },
];

it("draws shares of the whole, which need not add up", () => {
  expect([...shownWidths(PARTS, new Set()).values()]).toEqual([20, 5, 0, 74]);
});

it("gives the bar to the parts that are shown", () => {
  const widths = shownWidths(PARTS, new Set(["idle"]));
  expect([...widths.entries()]).toEqual([["kernels", 80], ["copies", 20], ["unknown", 0]]);
});

it("draws nothing when everything is hidden, or nothing is known of the rest", () => {
  expect(shownWidths(PARTS, new Set(PARTS.map(({ name }) => name))).size).toBe(0);
  expect([...shownWidths(PARTS, new Set(["kernels", "copies", "idle"])).values()]).toEqual([0]);
});
