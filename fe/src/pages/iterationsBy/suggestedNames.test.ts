import { expect, it } from "vitest";

import { isIterationsByFailure, suggestedNames } from "./suggestedNames";

it("detects failures of the iteration boundaries", () => {
  const failure = (code: string, message = "") => ({ code, message, hint: null });
  expect(isIterationsByFailure(failure("unknown_key_node"))).toBe(true);
  expect(isIterationsByFailure(failure("bad_parameter", "iterations_by: 'x' is none of steps, …"))).toBe(true);
  expect(isIterationsByFailure(failure("bad_parameter", "steps: 'x' …"))).toBe(false);
});

it("reads the names in a hint, not parts of them", () => {
  const names = ["mm", "aten::mm", "aten::bmm", "step one", ""];
  expect(suggestedNames("Did you mean aten::bmm or aten::mm or step one?", names)).toEqual(["aten::bmm", "aten::mm", "step one"]);
  expect(suggestedNames("There are: aten::mm, aten::addmm and 7 more.", names)).toEqual(["aten::mm"]);
  expect(suggestedNames(null, names)).toEqual([]);
});
