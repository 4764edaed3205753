import { expect, it } from "vitest";

import type { Fact } from "../../api/types";
import { deviceWord, performanceFacts, systemFacts } from "./dashboardFacts";

const fact = (key: string, value: Fact["value"]): Fact => ({ key, title: key, value, unit: null, scope: null, help: "", reason: null });
const keys = (facts: readonly Fact[]) => facts.map((each) => each.key);

it("shows every fact once", () => {
  const facts = [fact("step_count", 3), fact("host_name", "a"), fact("iteration_mean_us", 5), fact("wall_clock_us", 15), fact("new", 1)];
  expect(keys(performanceFacts(facts))).toEqual(["wall_clock_us", "iteration_mean_us"]);
  expect(keys(systemFacts(facts))).toEqual(["host_name", "new"]);
});

it("shows both means of the utilization only where they differ", () => {
  const means = (all: number, used: number) => performanceFacts([fact("gpu_utilization_mean_pct", all), fact("gpu_utilization_used_mean_pct", used)]);
  expect(means(10, 40)).toHaveLength(2);
  expect(means(40, 40)).toHaveLength(1);
});

it("names devices as their table does", () => {
  const column = { key: "gpu", title: "NPU", type: "integer", unit: null, help: "", estimated: false, family: null, hidden: false, additive: false } as const;
  expect(deviceWord({ columns: [column] })).toBe("NPU");
  expect(deviceWord({ columns: [] })).toBe("GPU");
});
