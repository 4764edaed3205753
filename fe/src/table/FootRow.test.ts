import { expect, it } from "vitest";

import type { ColumnView } from "./columnView";
import { countText, sumText, sumTitle } from "./FootRow";

const VISIBLE = ["calls", "total_us", "self_us"].map((key) => ({ column: { key, title: key, unit: key === "calls" ? "count" : "us" } }) as unknown as ColumnView);
const SUMS = { calls: { shown: 1, all: 4, shown_nulls: 0 }, total_us: { shown: 61, all: 100, shown_nulls: 0 }, self_us: { shown: 1, all: 1000, shown_nulls: 0 } };

it("shows how many rows match, and their share of the time", () => {
  expect(countText({ matching: 26, total: 26, sums: SUMS }, VISIBLE, "total_us")).toBe("26 rows");
  expect(countText({ matching: 2, total: 26, sums: SUMS }, VISIBLE, "total_us")).toBe("2 of 26 rows, 61.0 % of total_us");
  expect(countText({ matching: 2, total: 26, sums: SUMS }, VISIBLE, "self_us")).toBe("2 of 26 rows, 0.1 % of self_us");
  expect(countText({ matching: 2, total: 26, sums: SUMS }, VISIBLE, "name")).toBe("2 of 26 rows, 61.0 % of total_us");
});

it("shows no share where none is known", () => {
  expect(countText({ matching: 2, total: 26, sums: {} }, VISIBLE, "total_us")).toBe("2 of 26 rows");
  expect(countText({ matching: 0, total: 1, sums: {} }, VISIBLE, null)).toBe("0 of 1 row");
});

it("drops decimals of a sum rather than leading digits", () => {
  const view = { column: { key: "total_us", unit: "us" }, digits: 4, scale: { divisor: 1000, label: "ms" } } as unknown as ColumnView;
  const text = (widthPx: number) => sumText(view, 1_065_551.234, widthPx).replaceAll("\u202f", "");
  expect(text(200)).toBe("1065.5512");
  expect(text(76)).toBe("1065.6");
  expect(text(10)).toBe("1066");
});

it("shows sums exactly, without rounding noise", () => {
  const view = { column: { unit: "us" }, nullReason: null } as unknown as ColumnView;
  const text = (shown: number) => sumTitle(view, { shown, all: shown, shown_nulls: 0 }, { matching: 2, total: 2 }).replaceAll("\u202f", "");
  expect(text(10810.326999999996)).toBe("Sum: 10810.327 µs");
  expect(text(309.43700000000007)).toBe("Sum: 309.437 µs");
  expect(text(1_234_567_890_123_457)).toBe("Sum: 1234567890123457 µs");
});
