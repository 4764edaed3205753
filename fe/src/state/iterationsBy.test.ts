import { expect, it } from "vitest";

import { cutText, formatCut, parseCut, STEPS } from "./iterationsBy";

it("reads and writes what cuts a trace", () => {
  for (const text of ["auto", "name:aten::conv2d", "start:a:b\nc"]) expect(formatCut(parseCut(text) ?? STEPS)).toBe(text);
  expect(parseCut(undefined)).toEqual(STEPS);
  expect(parseCut("steps")).toEqual(STEPS);
  expect(formatCut(STEPS)).toBeNull();
  for (const text of ["name:", "step", "name"]) expect(parseCut(text)).toBeNull();
});

it("says what cuts, and nothing of the steps", () => {
  expect(cutText(undefined)).toBeNull();
  expect(cutText("name:aten::conv2d")).toBe("Iterations by aten::conv2d");
  expect(cutText("start:forward")).toBe("Iterations from forward on");
  expect(cutText("auto")).toBe("Iterations found automatically");
  expect(cutText("rubbish")).toBe("Iterations by “rubbish”");
});
