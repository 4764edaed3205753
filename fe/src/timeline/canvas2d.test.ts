/** The fills of the 2D renderer, recorded by a fake context. */
import { expect, it } from "vitest";

import { canvasRenderer } from "./canvas2d";
import type { RectBatch } from "./rects";

interface Filled {
  readonly style: string;
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

function drawn(heightPx: number, topPx: number, clip: { topPx: number; bottomPx: number }, busy = 255): Filled[] {
  const filled: Filled[] = [];
  const context = { fillStyle: "", setTransform: () => undefined, fillRect: (left: number, top: number, width: number, height: number) => filled.push({ style: context.fillStyle, left, top, width, height }) };
  const renderer = canvasRenderer({ getContext: () => context } as unknown as HTMLCanvasElement);
  const batch: RectBatch = { count: 1, coordinates: Float32Array.of(0, 1, 3, 20), paints: Uint8Array.of(10, 20, 30, busy), marks: null, version: 1 };
  renderer?.begin(100, heightPx, 1, [255, 255, 255]);
  filled.length = 0;
  renderer?.draw({ batch, scalePx: 50, offsetPx: 0, topPx, clip: { leftPx: 0, rightPx: 100, ...clip } });
  return filled.filter(({ height }) => height > 0);
}

it("a lane at the lower edge is drawn as far as it is visible, like its label", () => {
  expect(drawn(100, 85, { topPx: 85, bottomPx: 109 })).toEqual([{ style: "rgb(10,20,30)", left: 0, top: 88, width: 49, height: 12 }]);
});

it("nothing is drawn over pinned tracks", () => {
  expect(drawn(100, 30, { topPx: 40, bottomPx: 54 })).toEqual([{ style: "rgb(10,20,30)", left: 0, top: 40, width: 49, height: 10 }]);
  expect(drawn(100, 10, { topPx: 40, bottomPx: 54 })).toEqual([]);
});

it("the busy share of a merged block is filled from below, clipped or not", () => {
  const whole = drawn(100, 0, { topPx: 0, bottomPx: 60 }, 51);
  expect(whole.map(({ top, height }) => [Math.round(top), Math.round(height)])).toEqual([
    [3, 14],
    [17, 3],
  ]);
  expect(drawn(10, 0, { topPx: 0, bottomPx: 60 }, 51).map(({ top, height }) => [top, height])).toEqual([[3, 7]]);
});
