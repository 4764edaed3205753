import { expect, it } from "vitest";

import type { Fact } from "../api/types";
import { shownFacts } from "./shownFacts";

const fact = (key: string, value: number | null, scope: string | null = null): Fact => ({ key, title: key, value, unit: "pct", scope, help: "", reason: null });
const texts = (...facts: Fact[]) => shownFacts(facts).map(({ fact: { key }, bounds: between }) => [key, between?.text ?? null]);

it("merges bounds into their fact", () => {
  expect(texts(fact("kernel_count", 4), fact("used_pct", null), fact("used_min_pct", 21.8), fact("used_max_pct", 36.6))).toEqual([
    ["kernel_count", null],
    ["used_pct", "21.8–36.6 %"],
  ]);
});

it("shows a value, and a dash where it is unknown", () => {
  expect(texts(fact("used_pct", 30), fact("used_min_pct", 30), fact("used_max_pct", 31))).toEqual([["used_pct", null]]);
  expect(texts(fact("used_pct", null), fact("used_min_pct", null), fact("used_max_pct", null))).toEqual([["used_pct", null]]);
});

it("does not merge facts of another scope, nor bounds without a fact", () => {
  expect(texts(fact("used_pct", null, "GPU 0"), fact("used_min_pct", 1, "GPU 1"), fact("load_min_pct", 2))).toEqual([
    ["used_pct", null],
    ["used_min_pct", null],
    ["load_min_pct", null],
  ]);
});
