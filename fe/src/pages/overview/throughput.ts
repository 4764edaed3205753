/** The data of the throughput panel. */
import type { Fact, Series, Table, Unit } from "../../api/types";
import { seriesChart } from "../../chart/chartData";
import { isCurve, type ChartData, type Vertical } from "../../chart/types";
import { formatValue } from "../../lib/format";
import { numberOf, textOf } from "../../lib/rows";

export const THROUGHPUT_FACTS: readonly string[] = ["steps_per_s", "samples_per_s", "reader_ratio_pct", "profiler_overhead_pct", "warmup_steps"];

export const STATISTICS: readonly string[] = ["mean", "median", "p95", "min", "max"];

const TITLES: Readonly<Record<string, string>> = {
  reader_cost: "Reader cost",
  batch_cost: "Batch cost",
  steps_per_s: "Steps",
  samples_per_s: "Samples",
};

const UNITS: Readonly<Record<string, Unit>> = { us: "us", "1/s": "per_s" };

export interface Figures {
  readonly measure: string;
  /** By {@link STATISTICS}. */
  readonly texts: readonly string[];
}

export interface StepKind {
  readonly name: string;
  readonly steps: number;
  readonly figures: readonly Figures[];
}

/** The rows of the table, grouped by the kind of steps. */
export function stepKinds(table: Table): StepKind[] {
  const names = [...new Set(table.rows.map((row) => textOf(table, row, "steps_of")))];
  return names.map((name) => {
    const rows = table.rows.filter((row) => textOf(table, row, "steps_of") === name);
    return {
      name,
      steps: Math.max(...rows.map((row) => numberOf(table, row, "steps") ?? 0)),
      figures: rows.map((row) => {
        const measure = textOf(table, row, "measure");
        const unit = UNITS[textOf(table, row, "unit")] ?? null;
        return { measure: TITLES[measure] ?? measure, texts: STATISTICS.map((key) => formatValue(numberOf(table, row, key), unit)) };
      }),
    };
  });
}

const UNDER_THE_PROFILER = "training under the profiler";

/** The curve of all steps, with vertical lines where the profiler started. */
export function stepCurve(series: Series): ChartData {
  const chart = seriesChart(series);
  const traced = series.lines.find(({ name }) => name.startsWith(UNDER_THE_PROFILER));
  if (!isCurve(chart) || traced === undefined) return chart;
  const verticals = traced.x.flatMap((x, index): Vertical[] => {
    const begins = traced.y[index] !== null && (index === 0 || traced.y[index - 1] === null);
    return begins ? [{ x, label: "Profiler" }] : [];
  });
  return { ...chart, verticals };
}

/** The facts below the statistics, as far as known. */
export function throughputFacts(facts: readonly Fact[]): Fact[] {
  return THROUGHPUT_FACTS.slice(2).flatMap((key) => facts.filter((fact) => fact.key === key && fact.value !== null));
}
