import { expect, test } from "vitest";

import type { Fact } from "../../api/types";
import { devicesOf, formatPeaks, parsePeaks, withPeak } from "./peak";

test("the given peaks are those in the address", () => {
  const peaks = parsePeaks("bfloat16=989.4,bandwidth_gb_per_s=3350");
  expect([...peaks]).toEqual([
    ["bfloat16", 989.4],
    ["bandwidth_gb_per_s", 3350],
  ]);
  expect(formatPeaks(peaks)).toBe("bfloat16=989.4,bandwidth_gb_per_s=3350");
});

test("invalid peaks in the address are ignored", () => {
  expect([null, undefined, "", "a", "a=", "a=-1", "a=0", "=5", "a=Infinity"].map((text) => parsePeaks(text).size)).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0]);
});

test("a field changes its peak, an empty one removes it, others are refused", () => {
  const given = parsePeaks("float32=10");
  expect([...(withPeak(given, "float32", "12,5") ?? [])]).toEqual([["float32", 12.5]]);
  expect(withPeak(given, "float32", " ")?.size).toBe(0);
  expect(["x", "-1", "0"].map((text) => withPeak(given, "float32", text))).toEqual([null, null, null]);
  expect([...given]).toEqual([["float32", 10]]);
});

test("devices are listed once, in any order; without names there are no peaks to store", () => {
  const named = (...names: (string | null)[]) => devicesOf(names.map((value) => ({ key: "device_name", value }) as unknown as Fact));
  expect(named("B", "A", "B")).toBe("A + B");
  expect([named(), named(null)]).toEqual([null, null]);
});
