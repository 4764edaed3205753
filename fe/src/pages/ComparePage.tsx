/** Two traces side by side: what changed, by how much, and whether it is more than chance. */
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
import { allTraces, baselineParams, chooseBaseline, isSame, traceOf, type Baseline } from "./baseline";
import { BaselinePicker, traceTitle } from "./BaselinePicker";
import { hiddenAtFirst } from "./compareColumns";
import { nothingDiffers, surroundingsOf } from "./differences";
import { EmptySelection } from "./EmptySelection";
import { BigFacts } from "./Facts";
import { Findings } from "./Findings";
import { GroupBySwitch } from "./GroupBySwitch";
import { QualityNotes } from "./QualityNotes";
import { isOfSurroundings, Surroundings } from "./Surroundings";
import { PageHead, ViewFrame, type PageProps, type ViewContext } from "./ViewFrame";

export function ComparePage(props: PageProps) {
  const params = useParams();
  const { runs, target } = props;
  const choices = useMemo(() => allTraces(runs.runs), [runs]);
  const [empty, setEmpty] = useState<readonly Baseline[]>([]);
  const passOver = useCallback((trace: Baseline) => setEmpty((before) => [...before, trace]), []);
  const { trace: baseline, unknown, isNamed } = useMemo(() => chooseBaseline(runs, params, target, empty), [runs, params, target, empty]);
  const isKnownEmpty = empty.some((trace) => isSame(trace, baseline));
  const picker = (
    <>
      <BaselinePicker choices={choices} baseline={unknown === null ? baseline : null} target={target} />
      {empty.length > 0 && !isKnownEmpty && (
        <p className="soft" role="note">
          Passed over as baseline, for it holds no event: {empty.map((trace) => traceTitle(trace, choices)).join(", ")}.
        </p>
      )}
    </>
  );
  if (unknown !== null) {
    return (
      <div className="page">
        <PageHead info={props.info} />
        {picker}
        <FailureCard title="This link leads to nothing" failure={unknownBaseline(unknown)} />
      </div>
    );
  }
  // The candidate has something to compare: what has nothing is the baseline.
  const givesWay = !isNamed && !runs.discovering && props.info.available && !isKnownEmpty;
  return (
    <ViewFrame
      {...props}
      extra={{ ...baselineParams(baseline), ...baselineSelection(params) }}
      head={<GroupBySwitch info={props.info} />}
      above={picker}
      nothing={givesWay ? <PassedOver baseline={baseline} passOver={passOver} /> : undefined}
    >
      {(context) => (
        <>
          {!isNamed && !runs.discovering && isAnswerFor(context.view, baseline) && <Named baseline={baseline} target={target} />}
          <Comparison context={context} />
        </>
      )}
    </ViewFrame>
  );
}

function unknownBaseline(unknown: string) {
  return {
    code: "unknown",
    message: `What it compares with is not here: ${unknown}.`,
    hint: "Choose another baseline above. A trace that is still being written appears when it is complete.",
  };
}

function isAnswerFor(view: View, baseline: Baseline): boolean {
  const answered = view.trace.baseline;
  return answered !== undefined && isSame(answered, baseline);
}

/** A default that holds no event gives way to the next. */
function PassedOver({ baseline, passOver }: { readonly baseline: Baseline; readonly passOver: (trace: Baseline) => void }) {
  useEffect(() => passOver(baseline), [passOver, baseline]);
  return null;
}

/** A default that gave an answer goes into the address: the link then means the same when more traces have come. */
function Named({ baseline, target }: { readonly baseline: Baseline; readonly target: Target }) {
  const isOther = !isSame(baseline, traceOf(target));
  useEffect(() => {
    if (isOther) adjust(baselineParams(baseline));
  }, [isOther, baseline]);
  return null;
}

/** What stands above the tables has no place among them. */
const ABOVE = ["surroundings", "drill_down"];
/** What explains the difference comes first; the others in the order of the server. */
const FIRST_TABLES = ["explained", "throughput", "phases"];
/** The step itself is open: one sees its phases. */
const STEP_ID = "0";
const SAID_BY_INDENTATION = ["kind"];
const isClosed = (id: string) => id !== STEP_ID;

function Comparison({ context: { view, source, fileName } }: { readonly context: ViewContext }) {
  const params = useParams();
  const names = [...FIRST_TABLES, ...Object.keys(view.tables).filter((each) => !FIRST_TABLES.includes(each) && !ABOVE.includes(each))];
  const filled = names.filter((name) => (view.tables[name]?.row_count ?? 0) > 0);
  const name = filled.find((each) => each === params["tab"]) ?? filled[0];
  const table = name === undefined ? undefined : view.tables[name];
  const { surroundings: around, drill_down: parts, average_step: average } = view.tables;
  const total = view.facts.find(({ key }) => key === "delta_total_us")?.value;
  const isEqual = around !== undefined && nothingDiffers(surroundingsOf(around), parts, typeof total === "number" ? total : null);
  return (
    <>
      {around !== undefined && <Surroundings table={around} notes={view.notes} />}
      {isEqual && <p role="note">Nothing differs: as far as is recorded, the surroundings are the same and every part of the step takes the same time.</p>}
      <BigFacts facts={answerFirst(view.facts)} notes={view.notes} />
      {view.facts.some(({ key, value }) => key === "candidate_steps" && value === 0) && <EmptySelection what="step of the candidate" />}
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
          hiddenColumns={SAID_BY_INDENTATION}
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
          hiddenColumns={hiddenAtFirst(table)}
        />
      )}
      <QualityNotes notes={view.notes.filter((note) => !isOfSurroundings(note))} always={false} />
    </>
  );
}

/** Whether it is slower and how sure that is; then where; the steps last. */
const ANSWER = ["delta_total_us", "delta_total_pct", "confidence_total_pct", "largest_change"];
const LAST = ["baseline_steps", "candidate_steps"];
const MOST_FACTS = 9;

export function answerFirst(facts: readonly Fact[]): Fact[] {
  const shown = facts.filter((fact) => fact.unit !== null || typeof fact.value === "string");
  const named = (keys: readonly string[]) => keys.flatMap((key) => shown.filter((fact) => fact.key === key));
  const changes = shown.filter(({ key }) => !ANSWER.includes(key) && !LAST.includes(key));
  const room = MOST_FACTS - named(ANSWER).length - named(LAST).length;
  return [...named(ANSWER), ...changes.slice(0, room), ...named(LAST)];
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
