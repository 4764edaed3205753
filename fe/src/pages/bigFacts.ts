/** The few facts of the overview that stand large, each with the text it is shown as. */
import type { Fact, Table, View } from "../api/types";
import { boundsOf, type Bounds } from "../lib/bounds";
import { formatNumber } from "../lib/format";
import { cellOf } from "../lib/rows";
import { shownFact, type ShownFact } from "./shownFacts";

const BIG =
  /^(average_step_us|step_count|gpu_utilization_pct|gpu_compute_utilization_pct|est_sm_efficiency_pct|est_achieved_occupancy_pct|(compute_)?tensor_core_time_pct)$/;
/** Of more GPUs than this the table tells. */
const MAX_BIG_FACTS = 12;

/** Whether a fact has its place among the large ones, shown or not. */
export function isBig(fact: Fact): boolean {
  return BIG.test(fact.key);
}

export function bigFacts({ facts, tables }: Pick<View, "facts" | "tables">): ShownFact[] {
  const big = facts.filter((fact) => isBig(fact) && !isSaidBy(fact, facts));
  const shown = big.length <= MAX_BIG_FACTS ? big : big.filter((fact) => fact.scope === null);
  return shown.map((fact) => shownFact(fact, boundsOfGpu(fact, tables["gpus"])));
}

/** Facts that another one of the same GPU makes needless. */
function isSaidBy(fact: Fact, facts: readonly Fact[]): boolean {
  const beside = (key: string) => facts.find((other) => other.key === key && other.scope === fact.scope);
  // What share of the time that computes tells more than of all; the table has both.
  if (fact.key === "tensor_core_time_pct") return beside("compute_tensor_core_time_pct") !== undefined;
  if (fact.key === "gpu_compute_utilization_pct") return sameShown(beside("gpu_utilization_pct")?.value, fact.value);
  return false;
}

function sameShown(a: Fact["value"] | undefined, b: Fact["value"]): boolean {
  if (typeof a !== "number" || typeof b !== "number") return a === b;
  return formatNumber(a, 1) === formatNumber(b, 1);
}

/** The bounds that the row of its GPU tells. */
function boundsOfGpu({ scope, key }: Fact, gpus: Table | undefined): Bounds | null {
  if (scope === null || gpus === undefined) return null;
  const row = gpus.rows.find((each) => `GPU ${String(cellOf(gpus, each, "gpu"))}` === scope);
  return row === undefined ? null : boundsOf(gpus, row, key);
}
