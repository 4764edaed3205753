import { expect, it } from "vitest";

import type { Fact } from "../../api/types";
import { badges } from "./badges";

const fact = (key: string, value: Fact["value"]): Fact => ({ key, title: key, value, unit: "us", scope: null, help: "", reason: null });

it("shows mean and deviation as one", () => {
  const shown = badges([fact("iterations_total", 9), fact("iteration_mean_us", 12_345), fact("iteration_stddev_us", 56)]);
  expect(shown.map(({ fact: { key }, bounds: between }) => [key, between?.text ?? null])).toEqual([
    ["iterations_total", null],
    ["iteration_mean_us", "12.3 ± 0.1 ms"],
  ]);
});

it("has no deviation for one iteration", () => {
  const texts = (facts: readonly Fact[]) => badges(facts).map(({ fact: { key }, bounds: between }) => [key, between]);
  expect(texts([fact("iterations_selected", 1), fact("iteration_mean_us", 12_345), fact("iteration_stddev_us", 0)])).toEqual([
    ["iterations_selected", null],
    ["iteration_mean_us", null],
  ]);
  expect(texts([fact("iterations_selected", 3), fact("iteration_mean_us", 12_345), fact("iteration_stddev_us", 0)])[1]).toEqual(["iteration_mean_us", null]);
  expect(texts([fact("iteration_mean_us", 12_345), fact("iteration_stddev_us", null)])).toEqual([
    ["iteration_mean_us", null],
    ["iteration_stddev_us", null],
  ]);
});
