import { expect, test } from "vitest";

import { decades, decadeText, toPixel } from "./logScale";

test("equal factors are equal distances; values outside are at the edge", () => {
  const scale = { low: 0.01, high: 100, from: 0, to: 400 };
  expect([0.01, 0.1, 1, 10, 100].map((value) => Math.round(toPixel(scale, value)))).toEqual([0, 100, 200, 300, 400]);
  expect([0, 1e9].map((value) => toPixel(scale, value))).toEqual([0, 400]);
});

test("powers of ten are marked, up to the requested number", () => {
  expect(decades({ low: 0.02, high: 3000 }, 9)).toEqual([0.1, 1, 10, 100, 1000]);
  expect(decades({ low: 1e-6, high: 1e3 }, 5).length).toBeLessThanOrEqual(5);
  expect(decades({ low: 0.1, high: 1000 }, 9)).toEqual([0.1, 1, 10, 100, 1000]);
});

test("an axis names powers of ten", () => {
  expect([0.001, 0.1, 1, 1000, 1e4, 1e12, 1e-5].map(decadeText)).toEqual(["0.001", "0.1", "1", "1000", "10⁴", "10¹²", "10⁻⁵"]);
});
