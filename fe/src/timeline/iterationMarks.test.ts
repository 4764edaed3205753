import { expect, it } from "vitest";

import { marksOnScreen } from "./iterationMarks";

const THREE = { names: ["a", "b", "c"], startNs: Float64Array.of(0, 100, 200), endNs: 300 };

it("marks where each begins, with its name, and where the last ends", () => {
  expect(marksOnScreen(THREE, { startNs: 0, endNs: 300 }, 300)).toEqual([
    { x: 0, name: "a" },
    { x: 100, name: "b" },
    { x: 200, name: "c" },
    { x: 300, name: null },
  ]);
});

it("names the iteration that began before the screen", () => {
  expect(marksOnScreen(THREE, { startNs: 50, endNs: 150 }, 1000)).toEqual([
    { x: -500, name: "a" },
    { x: 500, name: "b" },
  ]);
});

it("omits marks that cannot be distinguished", () => {
  const many = { names: Array.from({ length: 10_000 }, (_, index) => `${index}`), startNs: Float64Array.from({ length: 10_000 }, (_, index) => index), endNs: 10_000 };
  const marks = marksOnScreen(many, { startNs: 0, endNs: 10_000 }, 1000);
  expect(marks.length).toBeLessThan(170);
  expect(marks.every(({ name }) => name === null)).toBe(true);
});
