import { expect, it } from "vitest";

import { nothingText } from "./nothing";
import type { CategoryChart, CurveChart } from "./types";

const bars = (...values: (number | null)[]): CategoryChart => ({
  kind: "bar",
  horizontal: false,
  categories: values.map(String),
  lines: [{ name: "Wait", values }],
  categoryTitle: "Worker",
  value: { title: "Time", unit: "us" },
});
const curve = (...y: (number | null)[]): CurveChart => ({
  kind: "line",
  lines: [{ name: "Allocated", x: y.map((_, place) => place), y }],
  x: { title: "Time", unit: "us" },
  y: { title: "Size", unit: "bytes" },
  marks: [],
});

it("is null where something is drawn", () => {
  expect(nothingText(bars(null, 0, 3))).toBeNull();
  expect(nothingText(curve(0, 0))).toBeNull();
});

it("says why nothing is", () => {
  expect(nothingText(bars(0, null, 0))).toBe("Nothing to draw: every value is 0.");
  expect(nothingText(bars(null, null), "Only one rank recorded collectives.")).toBe("Nothing to draw. Only one rank recorded collectives.");
  expect(nothingText(bars(null))).toBe("Nothing to draw. The recording has no such value.");
  expect(nothingText(bars())).toBe("Nothing to draw. The recording has nothing of the kind.");
  expect(nothingText({ ...bars(), lines: [] })).toBe("Nothing to draw. The recording has nothing of the kind.");
});
