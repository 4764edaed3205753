import { expect, it } from "vitest";

import type { TrackRow } from "./layout";
import { rangeBands } from "./rangeBand";
import { HEAD_PX, MINIMAP_PX } from "./scene";

const ROW_PX = 20;
const row = (key: string, topPx: number) => ({ topPx, heightPx: ROW_PX, track: { key } }) as TrackRow;
/** The first is pinned. */
const ROWS = ["p", "a", "b", "c", "d"].map((key, index) => row(key, index * ROW_PX));
const RULER = { topPx: MINIMAP_PX, bottomPx: HEAD_PX };

const stretches = (over: readonly string[] | null, scrollPx = 0) =>
  rangeBands({ rows: ROWS, over: over === null ? null : new Set(over), scrollPx, stickyPx: ROW_PX, heightPx: HEAD_PX + 70 });

it("the band of a range over all tracks reaches from the ruler to the bottom", () => {
  expect(stretches(null)).toEqual([{ topPx: MINIMAP_PX, bottomPx: HEAD_PX + 70 }]);
});

it("over some tracks it covers those, and the ruler", () => {
  expect(stretches(["b"])).toEqual([RULER, { topPx: HEAD_PX + 40, bottomPx: HEAD_PX + 60 }]);
  expect(stretches(["a", "b"])).toEqual([RULER, { topPx: HEAD_PX + 20, bottomPx: HEAD_PX + 60 }]);
  expect(stretches(["a", "c"])).toEqual([RULER, { topPx: HEAD_PX + 20, bottomPx: HEAD_PX + 40 }, { topPx: HEAD_PX + 60, bottomPx: HEAD_PX + 70 }]);
  expect(stretches(["off screen"])).toEqual([RULER]);
});

it("scrolled tracks are clipped below pinned ones, which do not move", () => {
  expect(stretches(["a"], 15)).toEqual([RULER, { topPx: HEAD_PX + 20, bottomPx: HEAD_PX + 25 }]);
  expect(stretches(["a"], 25)).toEqual([RULER]);
  expect(stretches(["p"], 25)).toEqual([{ topPx: MINIMAP_PX, bottomPx: HEAD_PX + 20 }]);
});
