/** What the view says, in sentences: how near the model is to the peak, how much could be saved, and where. */
import type { Fact, Scalar, View } from "../../api/types";
import { formatNumber, formatValue } from "../../lib/format";
import { numberOf, textOf } from "../../lib/rows";

const BOUND_WORDS: Readonly<Record<string, string>> = {
  compute: "limited by arithmetic",
  memory: "limited by memory bandwidth",
  latency: "too short to reach either limit",
};

export function answer(view: View): string[] {
  const sentences: string[] = [];
  const mfu = meanOf(view.facts.filter(({ key }) => key === "mfu_pct"));
  const peak = view.facts.find(({ key, value }) => key === "peak_tflops" && value !== null);
  const type = view.facts.find(({ key, value }) => key === "peak_type" && value !== null);
  if (mfu !== null) {
    const of = peak === undefined ? "what the device can compute" : `the ${formatNumber(Number(peak.value), 1)} TFLOP/s the device can compute${type === undefined ? "" : ` (${String(type.value)})`}`;
    sentences.push(`The model reaches ${formatValue(mfu, "pct")} of ${of}.`);
  }
  const recoverable = numberValue(view.facts, "recoverable_us");
  const first = view.tables["operators"];
  const row = first?.rows[0];
  if (recoverable !== null && recoverable > 0) {
    sentences.push(`At the roofs, ${formatValue(recoverable, "us")} of device time would be saved (estimated, at most).`);
    const own = first === undefined || row === undefined ? null : numberOf(first, row, "recoverable_us");
    if (first !== undefined && row !== undefined && own !== null && own > 0) {
      const why = BOUND_WORDS[textOf(first, row, "bound")];
      sentences.push(`Most of it in ${textOf(first, row, "name")}: ${formatValue(own, "us")}${why === undefined ? "" : `, ${why}`}.`);
    }
  }
  const without = numberValue(view.facts, "time_without_work_pct");
  if (without !== null && without >= 10) sentences.push(`For ${formatValue(without, "pct")} of the device time the work is not known.`);
  return sentences;
}

function numberValue(facts: readonly Fact[], key: string): number | null {
  const value: Scalar = facts.find((fact) => fact.key === key && fact.value !== null)?.value ?? null;
  return typeof value === "number" ? value : null;
}

/** The mean the server gives, or the only one there is. */
function meanOf(facts: readonly Fact[]): number | null {
  const known = facts.filter(({ value }) => typeof value === "number");
  const fact = known.find(({ scope }) => scope === null || scope.startsWith("mean")) ?? (known.length === 1 ? known[0] : undefined);
  return typeof fact?.value === "number" ? fact.value : null;
}
