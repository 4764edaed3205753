/** What each fold of the overview says in its line. */
import type { Fact, Table, View } from "../../api/types";
import { formatValue } from "../../lib/format";
import { cellOf, numberOf, textOf } from "../../lib/rows";
import { deviceWord } from "./dashboardFacts";

/** "6 steps of 171 to 190 ms" */
export function stepsAnswer(steps: Table): string {
  const lengths = steps.rows.flatMap((row) => numberOf(steps, row, "total_us") ?? []);
  const [least, most] = [Math.min(...lengths), Math.max(...lengths)].map((us) => formatValue(us, "us"));
  const count = `${steps.row_count} ${steps.row_count === 1 ? "step" : "steps"}`;
  if (lengths.length === 0) return count;
  return least === most ? `${count} of ${least ?? ""}` : `${count} of ${least ?? ""} to ${most ?? ""}`;
}

/** "1 of 4 used, 55.5 % busy" */
export function gpusAnswer({ tables: { gpus }, facts }: Pick<View, "tables" | "facts">): string {
  if (gpus === undefined || gpus.row_count === 0) return `no ${gpus === undefined ? "GPU" : deviceWord(gpus)} work recorded`;
  const value = (key: string) => facts.find((fact) => fact.key === key)?.value ?? null;
  const [visible, busy] = [value("gpu_count"), value("gpu_utilization_used_mean_pct")];
  const isJob = value("gpu_utilization_mean_pct") === null;
  const used = typeof visible === "number" && visible > gpus.row_count && !isJob ? `${gpus.row_count} of ${visible} used` : `${gpus.row_count} used`;
  return busy === null ? used : `${used}, ${formatValue(busy, "pct")} busy`;
}

/** "Steps per second 5.61 /s, Reader ratio 12.0 %": what is known. */
export function throughputAnswer(facts: readonly Fact[]): string {
  return facts
    .filter(({ key, value }) => (key === "steps_per_s" || key === "samples_per_s") && value !== null)
    .map(({ title, value, unit }) => `${title}: ${formatValue(value, unit)}`)
    .join(", ");
}

const SYSTEM = ["gpu_names", "cpu_model", "framework"];

/** "NVIDIA H100 80GB HBM3 · PyTorch 2.4": what is known of device, processor and framework. */
export function systemAnswer(facts: readonly Fact[]): string {
  return SYSTEM.flatMap((key) => facts.find((fact) => fact.key === key && fact.value !== null) ?? [])
    .map(({ value, unit }) => formatValue(value, unit))
    .join(" · ");
}

/** "6 issues in 4 findings, 25 passed, 22 need data this recording lacks" */
export function checksAnswer(table: Table, findings: readonly string[]): string {
  const rows = table.rows.map((row) => ({ outcome: textOf(table, row, "outcome"), code: cellOf(table, row, "code") }));
  const count = (outcome: string) => rows.filter((row) => row.outcome === outcome).length;
  const parts = [
    [count("issue"), "issue", "issues"],
    [count("passed"), "passed", "passed"],
    [count("not enough data"), "needs data this recording lacks", "need data this recording lacks"],
  ] as const;
  // Issues about the same time are one finding.
  const issues = new Set(rows.filter(({ outcome }) => outcome === "issue").map(({ code }) => code));
  const own = findings.filter((code) => issues.has(code)).length;
  const within = (outcome: string) => (outcome.startsWith("issue") && own > 0 && own < issues.size ? ` in ${own} ${own === 1 ? "finding" : "findings"}` : "");
  const shown = parts.filter(([number]) => number > 0).map(([number, one, several]) => `${number} ${number === 1 ? one : several}${within(several)}`);
  return shown.join(", ");
}
