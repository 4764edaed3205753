import { describe, expect, it } from "vitest";

import type { TimelineIdleGapPayload } from "../generated/schema";
import { gapScopeOf, sortedGaps } from "./gapRows";

function gap(device: number, start: number, length: number, cause: string): TimelineIdleGapPayload {
  return { gap: { device, start_ns: start, end_ns: start + length, thread: null, host: [] }, causes: [{ cause, dur_us: length / 1000 }], before: null, after: null };
}

const GAPS = [gap(1, 50, 5, "b"), gap(0, 10, 9, "b"), gap(0, 90, 7, "a")];
const starts = (gaps: readonly TimelineIdleGapPayload[]) => gaps.map((each) => each.gap.start_ns);

describe("gaps", () => {
  it.each([
    ["length", [10, 90, 50]],
    ["start", [10, 50, 90]],
    ["device", [10, 90, 50]],
    ["cause", [90, 10, 50]],
  ] as const)("by %s", (key, expected) => {
    expect(starts(sortedGaps(GAPS, key, false))).toEqual(expected);
    expect(starts(sortedGaps(GAPS, key, true))).toEqual(expected.toReversed());
  });

  it("are of the whole trace where no range is marked any more", () => {
    expect(gapScopeOf("range", true)).toBe("range");
    expect(gapScopeOf("range", false)).toBe("trace");
    expect(gapScopeOf("screen", false)).toBe("screen");
    expect([gapScopeOf(undefined, true), gapScopeOf("nowhere", true)]).toEqual([null, null]);
  });
});
