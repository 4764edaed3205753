/** Two traces side by side: what changed, by how much, and whether it is more than chance. */
import { useMemo } from "react";

import type { Fact, Table } from "../api/types";
import { Chart } from "../chart/Chart";
import type { CategoryChart } from "../chart/types";
import { adjust, navigate, useParams } from "../state/urlStore";
import type { Params } from "../state/address";
import type { Target } from "../state/target";
import { DataTable } from "../table/DataTable";
import { BaselinePicker, type Baseline } from "./BaselinePicker";
import { BigFacts } from "./Facts";
import { GroupBySwitch } from "./GroupBySwitch";
import { Findings } from "./Findings";
import { QualityNotes } from "./QualityNotes";
import { cellOf, textOf } from "./rows";
import { Segmented } from "./Segmented";
import { ViewFrame, type PageProps } from "./ViewFrame";

export function ComparePage(props: PageProps) {
  const params = useParams();
  const { runs } = props.runs;
  const choices = useMemo(() => allTraces(runs), [runs]);
  const baseline = chosenBaseline(choices, params, props.target);
  if (baseline === null) return null;
  const extra = {
    baseline_run: baseline.run,
    baseline_worker: baseline.worker,
    baseline_span: baseline.span,
    baseline_steps: params["baseline_steps"],
  };
  const swap = () =>
    navigate({
      run: baseline.run,
      worker: baseline.worker,
      span: baseline.span,
      steps: params["baseline_steps"],
      baseline_run: props.target.run.name,
      baseline_worker: props.target.worker.name,
      baseline_span: props.target.span.name,
      baseline_steps: params["steps"],
      start_us: null,
      end_us: null,
    });
  return (
    <ViewFrame {...props} extra={extra} head={<GroupBySwitch info={props.info} />}>
      {({ view, source, fileName }) => {
        const names = Object.keys(view.tables);
        const filled = names.filter((name) => (view.tables[name]?.row_count ?? 0) > 0);
        const name = filled.find((each) => each === params["tab"]) ?? filled[0];
        const table = name === undefined ? undefined : view.tables[name];
        const average = view.tables["average_step"];
        return (
          <>
            <BaselinePicker choices={choices} baseline={baseline} target={props.target} onSwap={swap} />
            <BigFacts facts={answerFirst(view.facts)} notes={view.notes} />
            <Findings notes={view.notes} always={false} />
            {average !== undefined && (
              <Chart title={average.title} help={average.help} chart={averageChart(average)} fileName={fileName("average_step")} height={280} />
            )}
            <Segmented label="Table" values={filled} value={name ?? ""} onPick={(value) => adjust({ tab: value })} title={(value) => view.tables[value]?.title ?? value} />
            {name !== undefined && table !== undefined && (
              <DataTable
                key={`${name} ${view.selection.group_by ?? ""}`}
                name={`compare.${name}`}
                table={table}
                source={source(name)}
                address={name}
                fileName={fileName(name)}
                notes={view.notes}
                hiddenColumns={isDetail}
              />
            )}
            <QualityNotes notes={view.notes} always={false} />
          </>
        );
      }}
    </ViewFrame>
  );
}

/** Every trace there is, as something to compare with. */
function allTraces(runs: readonly Target["run"][]): Baseline[] {
  return runs.flatMap((run) =>
    run.workers.flatMap((worker) => worker.spans.map((span) => ({ run: run.name, worker: worker.name, span: span.name }))),
  );
}

/** As the address says; else another span of the worker, else the trace listed before this one. */
function chosenBaseline(choices: readonly Baseline[], params: Params, target: Target): Baseline | null {
  const wanted = choices.find(
    (each) =>
      each.run === params["baseline_run"] &&
      each.worker === (params["baseline_worker"] ?? each.worker) &&
      each.span === (params["baseline_span"] ?? each.span),
  );
  if (wanted !== undefined) return wanted;
  const here = choices.findIndex(
    (each) => each.run === target.run.name && each.worker === target.worker.name && each.span === target.span.name,
  );
  const sameWorker = choices.find(
    (each, index) => index !== here && each.run === target.run.name && each.worker === target.worker.name,
  );
  return sameWorker ?? choices[here - 1] ?? choices[here + 1] ?? choices[here] ?? null;
}

/** Whether it is slower and how sure that is; then where; the steps last. */
const ANSWER = ["delta_total_us", "confidence_total_pct", "largest_change"];
const LAST = ["baseline_steps", "candidate_steps"];
const MOST_FACTS = 8;

export function answerFirst(facts: readonly Fact[]): Fact[] {
  const shown = facts.filter((fact) => fact.unit !== null || typeof fact.value === "string");
  const named = (keys: readonly string[]) => keys.flatMap((key) => shown.filter((fact) => fact.key === key));
  const changes = shown.filter(({ key }) => !ANSWER.includes(key) && !LAST.includes(key));
  const room = MOST_FACTS - named(ANSWER).length - named(LAST).length;
  return [...named(ANSWER), ...changes.slice(0, room), ...named(LAST)];
}

/** Columns that few look at first: bounds of intervals, calls, and both sides of every category. */
function isDetail(key: string): boolean {
  return (
    /_(low|high)_us$/.test(key) ||
    key === "delta_calls_pct" ||
    /^(baseline|candidate)_(kernel|memcpy|memset|communication|runtime|dataloader|cpu_exec|other)_us$/.test(key) ||
    /^delta_(kernel|memcpy|memset|communication|runtime|dataloader|cpu_exec|other)_pct$/.test(key) ||
    /_host_total_(us|pct)$/.test(key) ||
    /^(baseline|candidate)_names$/.test(key)
  );
}

const TOTAL = "Total";

/** The categories of the average step, baseline beside candidate. */
export function averageChart(table: Table): CategoryChart {
  const rows = table.rows.filter((row) => {
    const measured = ["baseline_duration_us", "candidate_duration_us"].some((key) => Number(cellOf(table, row, key) ?? 0) > 0);
    return measured && textOf(table, row, "category") !== TOTAL;
  });
  const values = (key: string) =>
    rows.map((row) => {
      const value = cellOf(table, row, key);
      return typeof value === "number" ? value : null;
    });
  return {
    kind: "bar",
    horizontal: false,
    categories: rows.map((row) => textOf(table, row, "category")),
    lines: [
      { name: "Baseline", values: values("baseline_duration_us") },
      { name: "Candidate", values: values("candidate_duration_us") },
    ],
    categoryTitle: "Category",
    value: { title: "Time per step", unit: "us" },
  };
}
