import { expect, it } from "vitest";

import { niceStep, tickLabel, ticks } from "./ruler";

it.each([
  [0.2, 1],
  [1, 1],
  [1.1, 2],
  [3, 5],
  [5, 5],
  [51, 100],
  [100, 100],
  [7e8, 1e9],
])("the step for %d ns is %d", (ns, step) => {
  expect(niceStep(ns)).toBe(step);
});

it.each([
  [0, 1e3, "0 µs"],
  [12_350_000, 10_000, "12.35 ms"],
  [1_500_000_000, 1e8, "1.5 s"],
  [-200, 100, "−200 ns"],
  [1234, 1, "1.234 µs"],
])("%d in steps of %d reads %s", (time, step, label) => {
  expect(tickLabel(time, step)).toBe(label);
});

it("marks are round, inside the screen and not crowded", () => {
  for (const span of [40, 1e3, 12_345, 7.7e6, 9.9e9]) {
    const marks = ticks({ startNs: 17, endNs: 17 + span }, 1000);
    expect(marks.length).toBeGreaterThan(2);
    expect(marks.length).toBeLessThanOrEqual(11);
    expect(new Set(marks.map(({ label }) => label)).size).toBe(marks.length);
    for (const { timeNs } of marks) {
      expect(timeNs).toBeGreaterThanOrEqual(17);
      expect(timeNs).toBeLessThanOrEqual(17 + span);
    }
  }
});
