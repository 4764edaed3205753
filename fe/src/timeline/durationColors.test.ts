import { expect, it } from "vitest";

import { luminance } from "./colors";
import { durationClasses, durationClassOf } from "./durationColors";

it.each([
  [0, 0],
  [999, 0],
  [1000, 1],
  [99_999, 2],
  [1e6, 4],
  [1e8, 6],
  [1e12, 6],
])("%d ns is of class %d", (durNs, index) => expect(durationClassOf(durNs)).toBe(index));

it.each([
  [false, -1],
  [true, 1],
])("lightness alone orders the classes (dark: %s)", (dark, direction) => {
  const lights = durationClasses(dark).map(({ color }) => luminance(color));
  expect(lights).toHaveLength(7);
  lights.slice(1).forEach((light, index) => {
    const [high, low] = [light, lights[index] ?? 0].sort((one, other) => other - one) as [number, number];
    expect(Math.sign(light - (lights[index] ?? 0))).toBe(direction);
    expect((high + 0.05) / (low + 0.05), "neighbours are told apart").toBeGreaterThan(1.3);
  });
});
