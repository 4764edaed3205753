import { describe, expect, it } from "vitest";

import type { TimelineNamesakesPayload } from "../generated/schema";
import { barsOf, positionText } from "./histogram";

const NOTHING = { dur_us: 0, total_us: 0, mean_us: 0, median_us: 0, p95_us: 0, min_us: 0, max_us: 0, is_log: false };

function namesakes(changed: Partial<TimelineNamesakesPayload>): TimelineNamesakesPayload {
  return { ...NOTHING, count: 1, shorter: 0, longer: 0, edges_us: [0, 1], counts: [1], own_bin: 0, ...changed };
}

describe("a histogram", () => {
  it("has a bar per bin, the selected one marked, none too low to see", () => {
    const bars = barsOf(namesakes({ count: 1011, counts: [1000, 0, 11], edges_us: [0, 10, 20, 30], own_bin: 2 }));
    expect(bars.map(({ left }) => left)).toEqual([0, 1 / 3, 2 / 3]);
    expect(bars.map(({ height }) => height)).toEqual([1, 0, 0.03]);
    expect(bars.map(({ isSelected }) => isSelected)).toEqual([false, false, true]);
    expect(bars[0]?.title).toBe("1\u202f000 from 0 µs to 10 µs");
  });

  it.each([
    [{ count: 1 }, "the only one of its name"],
    [{ count: 9 }, "as long as all the others"],
    [{ count: 101, shorter: 93, longer: 7 }, "slower than 93.0 % of the others"],
    [{ count: 101, shorter: 100 }, "the slowest of all"],
    [{ count: 101, longer: 100 }, "the fastest of all"],
    [{ count: 101, shorter: 99 }, "among the slowest, slower than 99.0 %"],
    [{ count: 100001, shorter: 1, longer: 99_999 }, "slower than < 0.1 % of the others"],
    [{ count: 100001, shorter: 99_999, longer: 1 }, "slower than >99.9 % of the others"],
  ])("says where one stands: %o", (changed, text) => {
    expect(positionText(namesakes(changed))).toBe(text);
  });
});
