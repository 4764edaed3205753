import { expect, it } from "vitest";

import { formatCounter } from "./counterDrawing";

it("shows the unit with the value", () => {
  expect(formatCounter(183, { unit: null, unit_label: "MHz" })).toBe("183 MHz");
  expect(formatCounter(45.126, { unit: "pct", unit_label: null })).toContain("%");
  expect(formatCounter(3, { unit: "count", unit_label: null })).toBe("3");
  expect(formatCounter(NaN, { unit: null, unit_label: "MHz" })).toBe("unknown");
});
