import { expect, test } from "vitest";

import { formatMs, parseMoment } from "./MomentField";

test("times are read in their unit, without one as milliseconds", () => {
  expect(["12.5", "12,5 ms", "800us", "800 µs", " 1.2 s ", ".5"].map(parseMoment)).toEqual([12500, 12500, 800, 800, 1_200_000, 500]);
});

test("invalid times are refused", () => {
  expect(["", "x", "-1", "1 min", "1e3", "1.2.3"].map(parseMoment)).toEqual([null, null, null, null, null, null]);
});

test("a shown time is parsed as the same time", () => {
  for (const us of [0, 0.001, 12090.857, 1e7]) expect(parseMoment(formatMs(us))).toBeCloseTo(us, 6);
});
