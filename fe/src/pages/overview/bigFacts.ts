/** The facts at the top of the overview, with their texts. */
import type { Fact, Table, View } from "../../api/types";
import { boundsOf, type Bounds } from "../../lib/bounds";
import { formatNumber } from "../../lib/format";
import { cellOf } from "../../lib/rows";
import { shownFact, type ShownFact } from "../shownFacts";

const BIG =
  /^(average_step_us|recorded_step_us|step_count|gpu_utilization_pct|gpu_compute_utilization_pct|est_sm_efficiency_pct|sm_active_pct|dram_bandwidth_pct|est_achieved_occupancy_pct|(compute_)?tensor_core_time_pct)$/;
/** With more facts than this, those of single GPUs are only in the table. */
const MAX_BIG_FACTS = 12;

/** Whether a fact belongs to the large ones, shown or not. */
export function isBig(fact: Fact): boolean {
  return BIG.test(fact.key);
}

export function bigFacts({ facts, tables }: Pick<View, "facts" | "tables">): ShownFact[] {
  const big = facts.filter((fact) => isBig(fact) && !isRedundant(fact, facts));
  const shown = big.length <= MAX_BIG_FACTS ? big : big.filter((fact) => fact.scope === null);
  return shown.map((fact) => shownFact(fact, boundsOfGpu(fact, tables["gpus"])));
}

/** Whether another fact of the same GPU makes this one redundant. */
function isRedundant(fact: Fact, facts: readonly Fact[]): boolean {
  const related = (key: string) => facts.find((other) => other.key === key && other.scope === fact.scope);
  // The share of compute time is more informative than that of all time; the table has both.
  if (fact.key === "tensor_core_time_pct") return related("compute_tensor_core_time_pct") !== undefined;
  if (fact.key === "gpu_compute_utilization_pct") return sameShown(related("gpu_utilization_pct")?.value, fact.value);
  return false;
}

function sameShown(a: Fact["value"] | undefined, b: Fact["value"]): boolean {
  if (typeof a !== "number" || typeof b !== "number") return a === b;
  return formatNumber(a, 1) === formatNumber(b, 1);
}

/** "GPU ", or "NPU " in recordings of Ascend. */
const DEVICE_WORD = /^[A-Z]+ /;

/** The bounds from the row of its GPU. */
function boundsOfGpu({ scope, key }: Fact, gpus: Table | undefined): Bounds | null {
  if (scope === null || gpus === undefined) return null;
  const row = gpus.rows.find((each) => String(cellOf(gpus, each, "gpu")) === scope.replace(DEVICE_WORD, ""));
  return row === undefined ? null : boundsOf(gpus, row, key.replace(/^gpu_/, ""));
}
