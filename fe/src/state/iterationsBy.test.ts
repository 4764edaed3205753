import { expect, it } from "vitest";

import { iterationsByText, formatIterationsBy, parseIterationsBy, STEPS } from "./iterationsBy";

it("parses and formats the iteration boundaries", () => {
  for (const text of ["auto", "name:aten::conv2d", "start:a:b\nc"]) expect(formatIterationsBy(parseIterationsBy(text) ?? STEPS)).toBe(text);
  expect(parseIterationsBy(undefined)).toEqual(STEPS);
  expect(parseIterationsBy("steps")).toEqual(STEPS);
  expect(formatIterationsBy(STEPS)).toBeNull();
  for (const text of ["name:", "step", "name"]) expect(parseIterationsBy(text)).toBeNull();
});

it("describes chosen boundaries, and nothing for steps", () => {
  expect(iterationsByText(undefined)).toBeNull();
  expect(iterationsByText("name:aten::conv2d")).toBe("Iterations by aten::conv2d");
  expect(iterationsByText("start:forward")).toBe("Iterations starting at forward");
  expect(iterationsByText("auto")).toBe("Iterations detected automatically");
  expect(iterationsByText("rubbish")).toBe("Iterations by “rubbish”");
});
