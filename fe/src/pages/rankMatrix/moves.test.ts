/** Arrow keys in a matrix with empty cells. */
import { expect, it } from "vitest";

import type { Arrangement } from "./arrange";
import { cellAfter, firstCell } from "./moves";

/** Three by three; the middle and the first cell are empty. */
const MATRIX: Arrangement = {
  id: "strategy",
  title: "Strategy",
  rows: { title: "", labels: ["a", "b", "c"] },
  columns: { title: "", labels: ["a", "b", "c"] },
  cells: new Int32Array([-1, 0, 1, 2, -1, 3, 4, 5, 6]),
};

it.each([
  ["ArrowRight", 1, 2],
  ["ArrowRight", 2, 2],
  ["ArrowRight", 3, 5],
  ["ArrowDown", 1, 7],
  ["ArrowUp", 7, 1],
  ["ArrowLeft", 1, 1],
  ["Home", 8, 1],
  ["End", 1, 8],
])("%s from cell %i leads to %i", (key, from, to) => {
  expect(cellAfter(key, from, MATRIX)).toBe(to);
});

it("other keys lead nowhere", () => {
  expect(cellAfter("a", 1, MATRIX)).toBeNull();
  expect(firstCell(new Int32Array([-1, -1]))).toBe(0);
});
