import { expect, it } from "vitest";

import { flameBoxes, type FlameNode } from "./flame";

const node = (id: string, parent: string | null, depth: number, left: number, width: number): FlameNode => ({
  id,
  parent,
  name: id,
  depth,
  left,
  width,
});
const NODES = [node("a", null, 0, 0, 80), node("b", "a", 1, 20, 40), node("c", null, 0, 80, 20), node("d", "b", 2, 20, 0.01)];

it("fills the width with everything", () => {
  expect(flameBoxes(NODES, null).map(({ node: { id }, leftPct, widthPct }) => [id, leftPct, widthPct])).toEqual([
    ["a", 0, 80],
    ["b", 20, 40],
    ["c", 80, 20],
  ]);
});

it("fills the width with one node, its ancestors and its descendants", () => {
  expect(flameBoxes(NODES, "b").map(({ node: { id }, leftPct, widthPct }) => [id, leftPct, widthPct])).toEqual([
    ["a", 0, 100],
    ["b", 0, 100],
  ]);
});

it("is empty for an empty tree", () => {
  expect(flameBoxes([], null)).toEqual([]);
  expect(flameBoxes([node("a", null, 0, 0, 0)], null)).toEqual([]);
});
