import { expect, it } from "vitest";

import { baselineSelection, iterationsByQuery, isSelected, NO_MOMENTS, NO_SELECTION, SELECTION_KEYS, selectionQuery, NO_PART } from "./selection";
import { viewParams } from "./urlStore";

const PARAMS = { run: "a", view: "kernels", iterations_by: "name:step", steps: "2:3", phase: "backward", forward_start: "f", "kernels.sort": "name" };

it("sends every parameter of the selection, and no other", () => {
  const sent = Object.entries(selectionQuery(PARAMS)).filter(([, value]) => value !== undefined);
  expect(Object.fromEntries(sent)).toEqual({ iterations_by: "name:step", steps: "2:3", phase: "backward", forward_start: "f" });
  expect(iterationsByQuery(PARAMS)).toEqual({ iterations_by: "name:step" });
});

it("has the persistent ones of the declared parameters", () => {
  expect([...SELECTION_KEYS].sort()).toEqual(["backward_end", "domain", "end_us", "forward_start", "iterations_by", "phase", "start_us", "steps"]);
});

it("carries them from page to page", () => {
  const expected = Object.entries({ ...PARAMS, view: "operators" }).filter(([key]) => key !== "kernels.sort");
  expect(viewParams(PARAMS, "operators")).toEqual(Object.fromEntries(expected));
});

it("clears the selected part, and the iteration boundaries only with everything", () => {
  expect(NO_PART).toMatchObject({ steps: null, start_us: null, phase: null, domain: null });
  expect(NO_PART).not.toHaveProperty("iterations_by");
  expect(NO_SELECTION).toMatchObject({ iterations_by: null, backward_end: null, at_us: null, peak: null, what_if: null });
  expect(NO_MOMENTS).toEqual({ start_us: null, end_us: null, at_us: null });
  expect(isSelected({ iterations_by: "auto" })).toBe(false);
  expect(isSelected({ phase: "forward" })).toBe(true);
});

it("sends only the baseline's own parameters for it", () => {
  expect(baselineSelection({ ...PARAMS, baseline_steps: "1", baseline_iterations_by: "steps" })).toMatchObject({ baseline_steps: "1", baseline_iterations_by: "steps", baseline_phase: undefined });
});
