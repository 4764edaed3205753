import { describe, expect, it } from "vitest";

import { fitRange, panBy, spanNs, zoomAt } from "./viewport";
import { covers, exactWindow, windowFor } from "./window";

const DURATION_NS = 8e9;
const WIDTH_PX = 1200;

/** Viewports of every size and place, always the same ones. */
function* viewports() {
  let seed = 7;
  const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
  for (let count = 0; count < 400; count++) {
    const span = 10 ** (2 + random() * 7.5);
    const startNs = random() * Math.max(0, DURATION_NS - span);
    yield { startNs, endNs: startNs + span };
  }
}

describe("the requested window", () => {
  it("covers the screen with a margin on both sides, at no less than three quarters of its resolution", () => {
    for (const viewport of viewports()) {
      const window = windowFor(viewport, WIDTH_PX);
      const span = spanNs(viewport);
      expect(viewport.startNs - window.startNs).toBeGreaterThan(0.3 * span);
      expect(window.endNs - viewport.endNs).toBeGreaterThan(0.3 * span);
      expect(spanNs(window) / window.widthPx).toBeLessThan((span / WIDTH_PX) * 1.42);
    }
  });

  it("stays the same while the screen moves a little, so that nothing is requested", () => {
    const start = fitRange(1e9, 2e9, DURATION_NS);
    const windows = new Set<string>();
    for (let step = 0; step < 100; step++) windows.add(JSON.stringify(windowFor(panBy(start, step / 100, DURATION_NS), WIDTH_PX)));
    expect(windows.size).toBeLessThan(8);
    const zooms = new Set<number>();
    for (let step = 0; step < 40; step++) zooms.add(spanNs(windowFor(zoomAt(start, 1 - step / 80, 0.5, DURATION_NS), WIDTH_PX)));
    expect(zooms.size).toBeLessThan(5);
  });

  it("stays within the limits of the server", () => {
    expect(windowFor({ startNs: 0, endNs: 1e6 }, 3840).widthPx).toBe(4000);
    expect(exactWindow({ startNs: 0.4, endNs: 99.2 }, 9000)).toEqual({ startNs: 0, endNs: 100, widthPx: 4000 });
  });

  it("ends with the trace", () => {
    expect(covers({ startNs: 0, endNs: 100 }, { startNs: -5, endNs: 105 }, 100)).toBe(true);
    expect(covers({ startNs: 1, endNs: 100 }, { startNs: -5, endNs: 50 }, 100)).toBe(false);
  });
});
