import { describe, expect, it } from "vitest";

import scaled from "../../../tests/data/scaled_numbers.json";
import type { Unit } from "../api/types";
import { baseLabel, scaleFor, unitAliases } from "./units";

describe("scaleFor", () => {
  it.each([
    ["us", 2_345_678, "s"],
    ["us", 1000, "ms"],
    ["us", 999.9, "µs"],
    ["us", 0.5, "ns"],
    ["us", 0, "µs"],
    ["ns", 1500, "µs"],
    ["bytes", 1023, "B"],
    ["bytes", 1024, "KiB"],
    ["bytes", 34_084_028_416, "GiB"],
    ["flops", 5e12, "TFLOP"],
    ["pct", 1e9, "%"],
    ["count", 1e9, ""],
    [null, 1e9, ""],
  ] as const)("%s up to %d is shown in %s", (unit, largest, label) => {
    expect(scaleFor(unit, largest).label).toBe(label);
  });

  it("accepts values that are not numbers", () => {
    expect(scaleFor("us", Number.NaN).label).toBe("µs");
    expect(scaleFor("bytes", Infinity).label).toBe("B");
  });
});

it("names the unit of exact values", () => {
  expect(baseLabel("us")).toBe("µs");
  expect(baseLabel("bytes")).toBe("B");
  expect(baseLabel(null)).toBe("");
});

it("knows common spellings of units", () => {
  expect(unitAliases("us").get("us")).toBe(1);
  expect(unitAliases("us").get("ms")).toBe(1000);
  expect(unitAliases("bytes").get("mb")).toBe(2 ** 20);
  expect(unitAliases("bytes").get("g")).toBe(2 ** 30);
});

it.each(scaled)("scales $largest $unit as the reports do", ({ unit, largest, label, divisor }) => {
  expect(scaleFor(unit as Unit | null, largest)).toEqual({ label, divisor });
});
