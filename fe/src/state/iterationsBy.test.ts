import { expect, it } from "vitest";

import { iterationsByText, formatIterationsBy, parseIterationsBy, DEFAULT } from "./iterationsBy";

it("parses and formats the iteration boundaries", () => {
  for (const text of ["auto", "steps", "name:aten::conv2d", "start:a:b\nc"]) expect(formatIterationsBy(parseIterationsBy(text) ?? DEFAULT)).toBe(text);
  expect(parseIterationsBy(undefined)).toEqual(DEFAULT);
  expect(parseIterationsBy("default")).toEqual(DEFAULT);
  expect(formatIterationsBy(DEFAULT)).toBeNull();
  for (const text of ["name:", "step", "name"]) expect(parseIterationsBy(text)).toBeNull();
});

it("describes chosen boundaries, and nothing for the default", () => {
  expect(iterationsByText(undefined)).toBeNull();
  expect(iterationsByText("steps")).toBe("Steps as recorded");
  expect(iterationsByText("name:aten::conv2d")).toBe("Iterations by aten::conv2d");
  expect(iterationsByText("start:forward")).toBe("Iterations starting at forward");
  expect(iterationsByText("auto")).toBe("Iterations detected automatically");
  expect(iterationsByText("rubbish")).toBe("Iterations by “rubbish”");
});
