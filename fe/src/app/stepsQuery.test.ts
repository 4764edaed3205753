import { expect, it } from "vitest";

import { problemOf } from "./stepsQuery";

it("points times to the fields for times", () => {
  for (const text of ["100ms-200ms", "1.5 s", "20µs..30µs", "5 ms"]) expect(problemOf(text)).toContain("From and To");
});

it("leaves steps, and names of steps, to the server", () => {
  for (const text of ["3-5", "3:5", "3..5", "last 3", "first 2", "5,8", "ProfilerStep#5", "warmup", "5 steps"]) expect(problemOf(text)).toBeNull();
});
