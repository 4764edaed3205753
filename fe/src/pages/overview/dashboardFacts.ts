/** Which facts of the overview belong to which panel. */
import type { Fact, Table } from "../../api/types";
import { isBig } from "./bigFacts";
import { THROUGHPUT_FACTS } from "./throughput";

const PERFORMANCE = [
  "wall_clock_us",
  "iterations_total",
  "iterations_selected",
  "iterations_first",
  "iterations_last",
  "iteration_mean_us",
  "iteration_stddev_us",
  "tensor_core_efficiency_pct",
  "matrix_units_busy_pct",
  "gpu_utilization_mean_pct",
  "gpu_utilization_used_mean_pct",
  "energy_per_step_j",
  "energy_per_token_j",
  "energy_per_sample_j",
  "energy_j",
  "mean_power_w",
  "kernel_calls",
  "event_count",
];

/** In this order, as far as the server has them. */
export function performanceFacts(facts: readonly Fact[]): Fact[] {
  return PERFORMANCE.flatMap((key) => facts.filter((fact) => fact.key === key && !isTwin(fact, facts)));
}

/** When every visible GPU is used, both means are equal. */
function isTwin(fact: Fact, facts: readonly Fact[]): boolean {
  if (fact.key !== "gpu_utilization_used_mean_pct") return false;
  const all = facts.find((other) => other.key === "gpu_utilization_mean_pct");
  return all !== undefined && all.value === fact.value;
}

/** All other facts: the machine, its devices and versions, the job. */
export function systemFacts(facts: readonly Fact[]): Fact[] {
  return facts.filter((fact) => !isBig(fact) && !PERFORMANCE.includes(fact.key) && !THROUGHPUT_FACTS.includes(fact.key));
}

/** What devices are called: "GPU", or "NPU" in recordings of Ascend. */
export function deviceWord(gpus: Pick<Table, "columns">): string {
  return gpus.columns.find(({ key }) => key === "gpu")?.title ?? "GPU";
}
