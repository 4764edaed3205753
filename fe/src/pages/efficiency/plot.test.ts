import { expect, test } from "vitest";

import type { Series } from "../../api/types";
import { heightAt, pointsOf, radiusOf, roofsOf, symbolPath, windowOf } from "./plot";

const SERIES: Series = {
  title: "Roofline",
  kind: "line",
  x_title: "",
  x_unit: null,
  y_title: "",
  y_unit: null,
  lines: [{ name: "bfloat16: 1000 TFLOP/s, memory 2000 GB/s", x: [0.01, 500, 10000], y: [0.02, 1000, 1000] }],
};

function table(rows: (string | number | null)[][]) {
  const keys = ["name", "input_shape", "intensity_flop_per_byte", "tflops_per_s", "device_time_pct", "roof_pct", "bound", "dtype"];
  const columns = keys.map((key) => ({ key, title: key, type: "string" as const, unit: null, help: "", estimated: false, family: null, hidden: false, additive: false }));
  return { columns, rows } as unknown as Parameters<typeof pointsOf>[0];
}

test("a roofline rises with memory bandwidth up to its ridge, and is flat after it", () => {
  const [roof] = roofsOf(SERIES);
  if (roof === undefined) throw new Error("no roof");
  expect(roof.label).toBe("bfloat16: 1000 TFLOP/s");
  expect(roof.memory).toBe("memory 2000 GB/s");
  // 2000 GB/s × 50 FLOP/byte = 100 TFLOP/s
  expect(heightAt(roof, 50)).toBeCloseTo(100);
  expect([500, 700, 1e6].map((x) => heightAt(roof, x))).toEqual([1000, 1000, 1000]);
});

test("the window holds every point and every ridge, with room around them", () => {
  const points = pointsOf(table([["aten::mm", "", 100, 40, 60, 11, "latency", "bfloat16"]]));
  const { x, y } = windowOf(points, roofsOf(SERIES));
  expect(x[0]).toBeLessThan(100);
  expect(x[1]).toBeGreaterThan(500);
  expect(y[0]).toBeLessThan(40);
  expect(y[1]).toBeGreaterThan(1000);
  expect(windowOf([], []).x[0]).toBeGreaterThan(0);
});

test("rows without coordinates are not points; a missing bound is unknown", () => {
  const points = pointsOf(
    table([
      ["a", "", null, 4, 60, null, "memory", ""],
      ["b", "[[2, 3]]", 1, 4, 60, null, "odd", ""],
    ]),
  );
  expect(points.map(({ id, bound }) => [id, bound])).toEqual([["b [[2, 3]]", "unknown"]]);
});

test("four times the time is twice the radius; no point is too small to hit", () => {
  expect(radiusOf(40, 40, 3) / radiusOf(10, 40, 3)).toBeCloseTo(2);
  expect(radiusOf(0.001, 40, 3)).toBeGreaterThanOrEqual(4);
  expect(radiusOf(40, 40, 300)).toBeLessThan(radiusOf(40, 40, 3));
});

test("each bound has its own shape", () => {
  const shapes = (["compute", "memory", "latency", "unknown"] as const).map((bound) => symbolPath(bound, 5));
  expect(new Set(shapes).size).toBe(4);
});
