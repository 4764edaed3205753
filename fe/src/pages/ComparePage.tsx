/** Compares two traces: what changed, by how much, and whether the change is significant. */
import { useCallback, useEffect, useMemo, useState } from "react";

import type { Fact, Table, View } from "../api/types";
import { Chart } from "../chart/Chart";
import type { CategoryChart } from "../chart/types";
import { cellOf, textOf } from "../lib/rows";
import { baselineSelection } from "../state/selection";
import type { Target } from "../state/target";
import { adjust, useParams } from "../state/urlStore";
import { DataTable } from "../table/DataTable";
import { Segmented } from "../ui/Segmented";
import { FailureCard } from "../ui/stateCards";
import { allTraces, baselineParams, chooseBaseline, isSame, traceOf, type Baseline } from "./compare/baseline";
import { BaselinePicker, traceTitle } from "./compare/BaselinePicker";
import { isIdentical, environmentOf } from "./compare/environment";
import { isEnvironmentNote, EnvironmentCard } from "./compare/EnvironmentCard";
import { hiddenByDefault } from "./compare/hiddenColumns";
import { EmptySelection } from "./EmptySelection";
import { BigFacts } from "./Facts";
import { Findings } from "./Findings";
import { GroupBySwitch } from "./GroupBySwitch";
import { PageHead } from "./PageHead";
import { QualityNotes } from "./QualityNotes";
import { ViewFrame, type PageProps, type ViewContext } from "./ViewFrame";

export function ComparePage(props: PageProps) {
  const params = useParams();
  const { runs, target } = props;
  const choices = useMemo(() => allTraces(runs.runs), [runs]);
  const [empty, setEmpty] = useState<readonly Baseline[]>([]);
  const skip = useCallback((trace: Baseline) => setEmpty((before) => [...before, trace]), []);
  const { trace: baseline, unknown, isNamed } = useMemo(() => chooseBaseline(runs, params, target, empty), [runs, params, target, empty]);
  const isKnownEmpty = empty.some((trace) => isSame(trace, baseline));
  const picker = (
    <>
      <BaselinePicker choices={choices} baseline={unknown === null ? baseline : null} target={target} />
      {empty.length > 0 && !isKnownEmpty && (
        <p className="soft" role="note">
          Skipped as baseline, as it has no events: {empty.map((trace) => traceTitle(trace, choices)).join(", ")}.
        </p>
      )}
    </>
  );
  if (unknown !== null) {
    return (
      <div className="page">
        <PageHead info={props.info} />
        {picker}
        <FailureCard title="Baseline not found" failure={unknownBaseline(unknown)} />
      </div>
    );
  }
  // The candidate has data for the view, so a missing view means an empty baseline.
  const canSkip = !isNamed && !runs.discovering && props.info.available && !isKnownEmpty;
  return (
    <ViewFrame
      {...props}
      extra={{ ...baselineParams(baseline), ...baselineSelection(params) }}
      head={<GroupBySwitch info={props.info} />}
      above={picker}
      emptyCard={canSkip ? <SkipBaseline baseline={baseline} skip={skip} /> : undefined}
    >
      {(context) => (
        <>
          {!isNamed && !runs.discovering && isAnswerFor(context.view, baseline) && <BaselineInAddress baseline={baseline} target={target} />}
          <Comparison context={context} />
        </>
      )}
    </ViewFrame>
  );
}

function unknownBaseline(unknown: string) {
  return {
    code: "unknown",
    message: `There is no ${unknown}.`,
    hint: "Choose another baseline above. A trace that is still being written appears when it is complete.",
  };
}

function isAnswerFor(view: View, baseline: Baseline): boolean {
  const answered = view.trace.baseline;
  return answered !== undefined && isSame(answered, baseline);
}

/** Skips a default baseline without events in favour of the next one. */
function SkipBaseline({ baseline, skip }: { readonly baseline: Baseline; readonly skip: (trace: Baseline) => void }) {
  useEffect(() => skip(baseline), [skip, baseline]);
  return null;
}

/** Writes the default baseline into the address once it has answered: the link stays valid when more traces appear. */
function BaselineInAddress({ baseline, target }: { readonly baseline: Baseline; readonly target: Target }) {
  const isOther = !isSame(baseline, traceOf(target));
  useEffect(() => {
    if (isOther) adjust(baselineParams(baseline));
  }, [isOther, baseline]);
  return null;
}

/** Tables that are shown above the others. */
const SHOWN_ABOVE = ["surroundings", "drill_down"];
/** Tables that explain the difference come first, the others in the order of the server. */
const FIRST_TABLES = ["explained", "throughput", "phases"];
/** The row of the step is open by default, to show its phases. */
const STEP_ID = "0";
const HIDDEN_IN_TREE = ["kind"];
const isClosed = (id: string) => id !== STEP_ID;

function Comparison({ context: { view, source, fileName } }: { readonly context: ViewContext }) {
  const params = useParams();
  const names = [...FIRST_TABLES, ...Object.keys(view.tables).filter((each) => !FIRST_TABLES.includes(each) && !SHOWN_ABOVE.includes(each))];
  const filled = names.filter((name) => (view.tables[name]?.row_count ?? 0) > 0);
  const name = filled.find((each) => each === params["tab"]) ?? filled[0];
  const table = name === undefined ? undefined : view.tables[name];
  const { surroundings: environment, drill_down: parts, average_step: average } = view.tables;
  const total = view.facts.find(({ key }) => key === "delta_total_us")?.value;
  const isEqual = environment !== undefined && isIdentical(environmentOf(environment), parts, typeof total === "number" ? total : null);
  return (
    <>
      {environment !== undefined && <EnvironmentCard table={environment} notes={view.notes} />}
      {isEqual && <p role="note">No difference: the environment is the same, as far as recorded, and every part of the step takes the same time.</p>}
      <BigFacts facts={answerFirst(view.facts)} notes={view.notes} />
      {view.facts.some(({ key, value }) => key === "candidate_steps" && value === 0) && <EmptySelection noun="candidate step" />}
      <Findings notes={view.notes} always={false} />
      {average !== undefined && (
        <Chart title={average.title} help={average.help} chart={averageChart(average)} fileName={fileName("average_step")} height={280} />
      )}
      {parts !== undefined && parts.rows.length > 0 && !isEqual && (
        <DataTable
          key={`parts ${view.selection.group_by ?? ""}`}
          name="compare.drill_down"
          table={parts}
          source={source("drill_down")}
          address="drill_down"
          fileName={fileName("drill_down")}
          notes={view.notes}
          closed={isClosed}
          hiddenColumns={HIDDEN_IN_TREE}
          maxHeight="480px"
        />
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
          hiddenColumns={hiddenByDefault(table)}
        />
      )}
      <QualityNotes notes={view.notes.filter((note) => !isEnvironmentNote(note))} always={false} />
    </>
  );
}

/** First whether it is slower, and how certain; then where; the steps last. */
const ANSWER = ["delta_total_us", "delta_total_pct", "confidence_total_pct", "largest_change"];
const LAST = ["baseline_steps", "candidate_steps"];
const MAX_FACTS = 9;

export function answerFirst(facts: readonly Fact[]): Fact[] {
  const shown = facts.filter((fact) => fact.unit !== null || typeof fact.value === "string");
  const named = (keys: readonly string[]) => keys.flatMap((key) => shown.filter((fact) => fact.key === key));
  const changes = shown.filter(({ key }) => !ANSWER.includes(key) && !LAST.includes(key));
  const room = MAX_FACTS - named(ANSWER).length - named(LAST).length;
  return [...named(ANSWER), ...changes.slice(0, room), ...named(LAST)];
}

const TOTAL = "Total";

/** The categories of the average step, baseline next to candidate. */
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
