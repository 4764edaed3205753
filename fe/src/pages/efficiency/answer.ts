/** The summary of the view in sentences: how close the model is to the peak, how much could be saved, and where. */
import type { Fact, Scalar, View } from "../../api/types";
import { formatNumber, formatValue, significantDigits } from "../../lib/format";
import { numberOf, textOf } from "../../lib/rows";

const BOUND_LABELS: Readonly<Record<string, string>> = {
  compute: "compute-bound",
  memory: "memory-bound",
  latency: "latency-bound",
};

export function answer(view: View): string[] {
  const sentences: string[] = [];
  const ofKey = (wanted: string) => meanOf(view.facts.filter(({ key }) => key === wanted));
  const known = ofKey("mfu_pct");
  const mfu = known ?? ofKey("mfu_min_pct");
  const peak = view.facts.find(({ key, value }) => key === "peak_tflops" && value !== null);
  const type = view.facts.find(({ key, value }) => key === "peak_type" && value !== null);
  if (mfu !== null) {
    const reference = peak === undefined ? "what the device can compute" : `the ${formatNumber(Number(peak.value), significantDigits(Number(peak.value)))} TFLOP/s the device can compute${type === undefined ? "" : ` (${String(type.value)})`}`;
    sentences.push(`The model reaches ${known === null ? "at least " : ""}${formatValue(mfu, "pct")} of ${reference}.`);
  }
  const recoverable = numberValue(view.facts, "recoverable_us");
  const first = view.tables["operators"];
  const row = first?.rows[0];
  if (recoverable !== null && recoverable > 0) {
    sentences.push(`At its roofline limit every operator together would save ${formatValue(recoverable, "us")} of device time (estimated upper bound).`);
    const firstUs = first === undefined || row === undefined ? null : numberOf(first, row, "recoverable_us");
    if (first !== undefined && row !== undefined && firstUs !== null && firstUs > 0) {
      const bound = BOUND_LABELS[textOf(first, row, "bound")];
      sentences.push(`Largest part: ${textOf(first, row, "name")}: ${formatValue(firstUs, "us")}${bound === undefined ? "" : `, ${bound}`}.`);
    }
  }
  const without = numberValue(view.facts, "time_without_work_pct");
  if (without !== null && without >= 10) sentences.push(`The work behind ${formatValue(without, "pct")} of the device time is unknown.`);
  return sentences;
}

function numberValue(facts: readonly Fact[], key: string): number | null {
  const value: Scalar = facts.find((fact) => fact.key === key && fact.value !== null)?.value ?? null;
  return typeof value === "number" ? value : null;
}

/** The mean of the server, or the only value. */
function meanOf(facts: readonly Fact[]): number | null {
  const known = facts.filter(({ value }) => typeof value === "number");
  const fact = known.find(({ scope }) => scope === null || scope.startsWith("mean")) ?? (known.length === 1 ? known[0] : undefined);
  return typeof fact?.value === "number" ? fact.value : null;
}
