/** The scale is distinguished by lightness alone, and its ends are the lowest and highest value. */
import { describe, expect, it } from "vitest";

import { colorOf, shareOf, spreadOf } from "./colorScale";

function lightness(color: string): number {
  const [red = 0, green = 0, blue = 0] = (color.match(/\d+/g) ?? []).map((part) => (Number(part) / 255) ** 2.2);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

describe.each(["light", "dark"] as const)("in the %s theme", (theme) => {
  it("every step changes the lightness in one direction", () => {
    const steps = Array.from({ length: 33 }, (_, step) => lightness(colorOf(step / 32, theme)));
    const rises = steps.slice(1).map((value, index) => Math.sign(value - (steps[index] ?? 0)));
    expect(new Set(rises)).toEqual(new Set([theme === "dark" ? 1 : -1]));
  });
});

it("values outside are the ends", () => {
  expect(colorOf(-1, "light")).toBe(colorOf(0, "light"));
  expect(colorOf(2, "light")).toBe(colorOf(1, "light"));
});

it("the spread leaves unknown values out", () => {
  expect(spreadOf([3, null, 1, 2])).toEqual({ low: 1, median: 2, high: 3 });
  expect(spreadOf([1, 2])).toEqual({ low: 1, median: 1.5, high: 2 });
  expect(spreadOf([null])).toBeNull();
  expect(shareOf(2, { low: 1, median: 2, high: 3 })).toBe(0.5);
  expect(shareOf(5, { low: 5, median: 5, high: 5 })).toBe(0.5);
});
