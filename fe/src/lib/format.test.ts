import { describe, expect, it } from "vitest";

import { digitsOfSmall, distinguishingDigits, exactValue, formatMoment, formatNumber, formatSeconds, formatValue, isMoment, significanceText, THIN_SPACE } from "./format";

const thin = (text: string) => text.replaceAll("_", THIN_SPACE);

describe("formatNumber", () => {
  it.each([
    [1204, 0, "1_204"],
    [1_234_567.891, 2, "1_234_567.89"],
    [999, 0, "999"],
    [-1204, 0, "−1_204"],
    [-0.0001, 2, "0.00"],
    [0, 3, "0.000"],
    [Number.NaN, 0, "NaN"],
  ])("%d with %d decimals is %s", (value, digits, text) => {
    expect(formatNumber(value, digits)).toBe(thin(text));
  });
});

describe("formatValue", () => {
  it.each([
    [null, "us", "–"],
    [true, null, "Yes"],
    [1500, "us", "1.50 ms"],
    [177_592.17, "us", "178 ms"],
    [55.514, "pct", "55.5 %"],
    [0, "pct", "0 %"],
    [0.037, "pct", "<0.1 %"],
    [-0.037, "pct", ">−0.1 %"],
    [100, "pct", "100.0 %"],
    [99.94, "pct", "99.9 %"],
    [99.99999999999999, "pct", ">99.9 %"],
    [6, "count", "6"],
    [44_666, "count", "44_666"],
    [99.96, "us", "100 µs"],
    [12.345, "us", "12.3 µs"],
    [1_234_567_890, "us", "1_235 s"],
    [0.01234, "gb_per_s", "0.012 GB/s"],
    [34_084_028_416, "bytes", "31.7 GiB"],
    ["7.0", null, "7.0"],
    ["a\u202eb", null, "a⟨U+202E⟩b"],
  ] as const)("%s in %s is %s", (value, unit, text) => {
    expect(formatValue(value, unit)).toBe(thin(text));
  });
});

it("shows digits of values that are small in their unit, no finer than a ns", () => {
  const ms = { label: "ms", divisor: 1e3 };
  expect([12.3, 1, 0.309, 0.0123, 0.000001, 0].map((largest) => digitsOfSmall(largest, "us", ms))).toEqual([0, 0, 4, 5, 6, 0]);
  expect(digitsOfSmall(0.5, "bytes", { label: "KiB", divisor: 1024 })).toBe(4);
});

describe("times of day", () => {
  it.each([
    [0, "0 ns"],
    [812, "812 ns"],
    [4_258_157, "4.258157 ms"],
    [1_234_567_891_004, "1_234.567891004 s"],
  ])("%d ns is %s", (ns, text) => {
    expect(formatMoment(ns)).toBe(thin(text));
  });

  it.each([
    ["start_us", true],
    ["peak_us", true],
    ["duration_us", false],
    ["peak_bytes", false],
  ])("%s: %s", (key, expected) => {
    expect(isMoment(key)).toBe(expected);
  });

  it.each([
    [[1_234_567_891, 1_234_567_895, null], 1e6, 6],
    [[12_345_678.001, 12_345_678.002], 1e6, 9],
    [[20e6, 30e6], 1e6, 0],
    [[5, 5], 1, 0],
    [[], 1, 0],
  ])("%j in %d", (values, divisor, digits) => {
    expect(distinguishingDigits(values, "us", divisor)).toBe(digits);
  });
});

describe("exactValue", () => {
  it("shows every digit the server sent", () => {
    expect(exactValue(123456.789, "us")).toBe(thin("123_456.789 µs"));
    expect(exactValue(0.001, "us")).toBe("0.001 µs");
    expect(exactValue(1e-7, "us")).toBe("1e-7 µs");
    expect(exactValue(9007199254740991, null)).toBe(thin("9_007_199_254_740_991"));
  });
});

it("says in words whether a difference is significant", () => {
  expect(significanceText(7.61)).toBe("not significant (p = 0.92)");
  expect(significanceText(94.96)).toBe("not significant (p = 0.050)");
  expect(significanceText(95)).toBe("significant (p = 0.050)");
  expect(significanceText(100)).toBe("significant (p < 0.001)");
});

it("shows seconds", () => {
  expect(formatSeconds(4.4)).toBe("4 s");
  expect(formatSeconds(130)).toBe("2 min 10 s");
  expect(formatSeconds(-1)).toBe("0 s");
});
