/** The drawing of the critical path, recorded by a fake context. */
import { expect, it } from "vitest";

import type { TimelineSlicePayload } from "../generated/schema";
import { drawPath } from "./pathDrawing";
import type { Scene } from "./scene";

function drawn(...pieces: readonly Partial<TimelineSlicePayload>[]): string[] {
  const calls: string[] = [];
  const record = (method: string) => (...at: number[]) => calls.push([method, ...at].join(" "));
  const context = { fillRect: record("bar"), strokeRect: record("frame") } as unknown as CanvasRenderingContext2D;
  const row = { topPx: 0, lanes: 1, lanePx: 19, heightPx: 20 };
  const scene = {
    viewport: { startNs: 0, endNs: 100 },
    widthPx: 100,
    scrollPx: 0,
    stickyPx: 0,
    layout: { rowOf: new Map([["a", row]]) },
    palette: { accent: "blue" },
  } as unknown as Scene;
  drawPath(context, scene, pieces.map((piece) => ({ track: "a", lane: 0, ...piece }) as TimelineSlicePayload));
  return calls.map((text) => text.replace(/^(\w+) (\S+) \S+ (\S+) \S+$/, "$1 from $2 width $3"));
}

it("draws frames for wide pieces, bars for narrow ones, and nothing off screen", () => {
  expect(drawn({ start_ns: 10, dur_ns: 40 })).toEqual(["frame from 11 width 38"]);
  expect(drawn({ start_ns: 10, dur_ns: 2 })).toEqual(["bar from 10 width 2"]);
  expect(drawn({ start_ns: 200, dur_ns: 50 }, { track: "closed", start_ns: 0, dur_ns: 50 })).toEqual([]);
});

it("is clipped to the screen", () => {
  expect(drawn({ start_ns: -1e9, dur_ns: 2e9 })).toEqual(["frame from -1 width 102"]);
});
