import { describe, expect, it } from "vitest";

import { between, clampViewport, fitRange, MIN_SPAN_NS, panBy, pxOf, reveal, spanNs, timeAt, wholeTrace, zoomAt } from "./viewport";

const DURATION_NS = 1e9;
const MIDDLE = { startNs: 4e8, endNs: 6e8 };

describe("zoom", () => {
  it.each([0, 0.25, 0.5, 1])("keeps the moment under the pointer at %s", (at) => {
    const before = MIDDLE.startNs + at * spanNs(MIDDLE);
    const zoomed = zoomAt(MIDDLE, 0.3, at, DURATION_NS);
    expect(zoomed.startNs + at * spanNs(zoomed)).toBeCloseTo(before, 3);
    expect(spanNs(zoomed)).toBeCloseTo(0.6e8, 3);
  });

  it("ends at a few nanoseconds and at the whole trace", () => {
    let viewport = MIDDLE;
    for (let count = 0; count < 200; count++) viewport = zoomAt(viewport, 0.5, 0.5, DURATION_NS);
    expect(spanNs(viewport)).toBeCloseTo(MIN_SPAN_NS);
    for (let count = 0; count < 200; count++) viewport = zoomAt(viewport, 2, 0.5, DURATION_NS);
    expect(viewport).toEqual(wholeTrace(DURATION_NS));
  });

  it("does not move at the smallest span", () => {
    const closest = { startNs: 1000, endNs: 1000 + MIN_SPAN_NS };
    expect(zoomAt(closest, 0.5, 0.9, DURATION_NS)).toEqual(closest);
  });
});

describe("movement", () => {
  it("pans by widths of the screen", () => {
    expect(panBy(MIDDLE, 0.5, DURATION_NS)).toEqual({ startNs: 5e8, endNs: 7e8 });
  });

  it("stays within the trace", () => {
    expect(panBy(MIDDLE, 100, DURATION_NS).startNs).toBeLessThan(DURATION_NS);
    expect(panBy(MIDDLE, -100, DURATION_NS).endNs).toBeGreaterThan(0);
    expect(spanNs(panBy(MIDDLE, 100, DURATION_NS))).toBeCloseTo(spanNs(MIDDLE));
  });

  it("shows a trace of one instant", () => {
    const whole = wholeTrace(0);
    expect(spanNs(whole)).toBeGreaterThan(0);
    expect(clampViewport(whole, 0)).toEqual(whole);
    expect(fitRange(0, 0, 0)).toEqual(whole);
  });

  it("fits a range with room, and only moves when it must to reveal one", () => {
    const fitted = fitRange(100e6, 200e6, DURATION_NS);
    expect(fitted.startNs).toBeLessThan(100e6);
    expect(fitted.endNs).toBeGreaterThan(200e6);
    expect(reveal(MIDDLE, 4.1e8, 4.2e8, DURATION_NS)).toBe(MIDDLE);
    const moved = reveal(MIDDLE, 7e8, 7.1e8, DURATION_NS);
    expect(spanNs(moved)).toBeCloseTo(spanNs(MIDDLE));
    expect(moved.startNs).toBeLessThan(7e8);
    expect(moved.endNs).toBeGreaterThan(7.1e8);
  });

  it("moves without the target leaving sight", () => {
    const target = { startNs: 5.9e8, endNs: 5.90001e8 };
    for (let progress = 0; progress <= 1; progress += 0.05) {
      const now = between(MIDDLE, target, progress);
      expect(now.startNs).toBeLessThanOrEqual(target.startNs + 1);
      expect(now.endNs).toBeGreaterThanOrEqual(target.endNs - 1);
    }
    expect(between(MIDDLE, target, 1)).toBe(target);
  });
});

it("pixels and times are inverse", () => {
  expect(timeAt(MIDDLE, pxOf(MIDDLE, 4.5e8, 1200), 1200)).toBeCloseTo(4.5e8, 3);
  expect(pxOf(MIDDLE, 5e8, 1000)).toBeCloseTo(500);
});
