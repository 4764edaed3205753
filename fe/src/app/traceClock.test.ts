import { describe, expect, it } from "vitest";

import { clockOf, endText, parseTime, RAW_CLOCK, shownTime, stepsText } from "./traceClock";

/** A recording of 198.637617 ms whose first event is at ts 4369070258256.345. */
const CLOCK = clockOf(4369070258256.345, 198_637_617);

describe("times counted from the beginning", () => {
  it.each([
    ["0", "4369070258256.345"],
    ["1", "4369070259256.345"],
    ["1.5", "4369070259756.345"],
    ["20 µs", "4369070258276.345"],
    ["2 s", "4369072258256.345"],
    ["-1", "4369070257256.345"],
    ["  ", ""],
  ])("%s (in ms when it has no unit) is ts %s", (typed, ts) => {
    expect(parseTime(typed, CLOCK)).toBe(ts);
  });

  it("accepts no other text as a time", () => {
    for (const text of ["soon", "1 GB", "1..2"]) expect(parseTime(text, CLOCK), text).toBeNull();
  });

  it("shows the time in the address", () => {
    expect(shownTime("4369070259756.345", CLOCK)).toBe("1.5");
    expect(shownTime("4369070258256.346", CLOCK)).toBe("0.000001");
    expect(shownTime(undefined, CLOCK)).toBe("");
  });

  it("names the end in the same unit", () => {
    expect(`${endText(CLOCK)} ${CLOCK.scale.label}`).toBe("198.638 ms");
  });
});

it("takes times unchanged where the beginning is unknown", () => {
  expect(parseTime("12.5", RAW_CLOCK)).toBe("12.500");
  expect(shownTime("12.500", RAW_CLOCK)).toBe("12.5");
});

it("names steps, runs of numbers as one", () => {
  expect(stepsText(["5", "6", "7", "8"])).toBe("5 to 8");
  expect(stepsText(["0", "3", "4", "warmup"])).toBe("0, 3 to 4, warmup");
  expect(stepsText(["2"])).toBe("2");
});
