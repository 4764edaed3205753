/** Compares two traces: what changed, by how much, and whether the change is significant. */
import { useCallback, useEffect, useMemo, useState } from "react";

import type { View } from "../api/types";
import { Chart } from "../chart/Chart";
import { cellOf } from "../lib/rows";
import { useNameMode } from "../state/nameMode";
import { baselineSelection } from "../state/selection";
import type { Target } from "../state/target";
import { adjust, useParams } from "../state/urlStore";
import { DataTable } from "../table/DataTable";
import { Fold } from "../ui/Fold";
import { FailureCard } from "../ui/stateCards";
import { allTraces, baselineParams, chooseBaseline, isSame, thirdOf, thirdParams, traceOf, type Baseline } from "./compare/baseline";
import { BaselinePicker, traceTitle } from "./compare/BaselinePicker";
import { averageChart, changesChart, MOST_BARS, rowLabel, stepsChart } from "./compare/charts";
import { isIdentical, environmentOf } from "./compare/environment";
import { isEnvironmentNote, EnvironmentCard } from "./compare/EnvironmentCard";
import { hiddenByDefault, withoutPairs } from "./compare/hiddenColumns";
import { useMarkedBaseline } from "./compare/markedBaseline";
import { EmptySelection } from "./EmptySelection";
import { Findings } from "./Findings";
import { GroupBySwitch } from "./GroupBySwitch";
import { PageHead } from "./PageHead";
import { countText } from "./PageTable";
import { QualityNotes } from "./QualityNotes";
import { ViewFrame, type PageProps, type ViewContext } from "./ViewFrame";

export function ComparePage(props: PageProps) {
  const params = useParams();
  const { runs, target } = props;
  const [marked, mark] = useMarkedBaseline();
  const choices = useMemo(() => allTraces(runs.runs), [runs]);
  const [empty, setEmpty] = useState<readonly Baseline[]>([]);
  const skip = useCallback((trace: Baseline) => setEmpty((before) => [...before, trace]), []);
  const { trace: baseline, unknown, isNamed } = useMemo(
    () => chooseBaseline(runs, params, target, empty, marked),
    [runs, params, target, empty, marked],
  );
  const third = thirdOf(choices, params);
  const isKnownEmpty = empty.some((trace) => isSame(trace, baseline));
  const picker = (
    <>
      <BaselinePicker choices={choices} baseline={unknown === null ? baseline : null} target={target} marked={marked} onMark={mark} />
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
      extra={{ ...baselineParams(baseline), ...baselineSelection(params), ...thirdParams(third) }}
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

/** The row of the step is open by default, to show its phases. */
const STEP_ID = "0";
const HIDDEN_IN_TREE = ["kind"];
const isClosed = (id: string) => id !== STEP_ID;

function Comparison({ context }: { readonly context: ViewContext }) {
  switch (context.tab) {
    case "steps":
      return <StepsTab context={context} />;
    case "operators":
      return <NamesTab context={context} names={["operators", "modules"]} measures={["device_self_us", "host_self_us"]} />;
    case "kernels":
      return <NamesTab context={context} names={["kernels"]} measures={["total_us"]} />;
    case "memory":
      return <MemoryTab context={context} />;
    default:
      return <Verdict context={context} />;
  }
}

function Verdict({ context }: { readonly context: ViewContext }) {
  const { view, source, fileName } = context;
  const { surroundings: environment, drill_down: parts, average_step: average } = view.tables;
  const total = view.facts.find(({ key }) => key === "delta_total_us")?.value;
  const isEqual = environment !== undefined && isIdentical(environmentOf(environment), parts, typeof total === "number" ? total : null);
  return (
    <>
      {environment !== undefined && <EnvironmentCard table={environment} notes={view.notes} />}
      {isEqual && <p role="note">No difference: the environment is the same, as far as recorded, and every part of the step takes the same time.</p>}
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
          hiddenColumns={[...HIDDEN_IN_TREE, ...parts.columns.map(({ key }) => key).filter(withoutPairs(parts))]}
          maxHeight="480px"
        />
      )}
      <Tables context={context} names={["throughput"]} />
      {["explained", "average_step"].map((name) => (
        <FoldedComparison key={name} context={context} name={name} />
      ))}
      <QualityNotes notes={view.notes.filter((note) => !isEnvironmentNote(note))} always={false} />
    </>
  );
}

/** The steps by position, as a picture and a table; then their phases. */
function StepsTab({ context }: { readonly context: ViewContext }) {
  const { view, fileName } = context;
  const steps = view.tables["steps"];
  return (
    <>
      {steps !== undefined && steps.rows.length > 1 && (
        <Chart title="Step times" help="Steps of both sides by position." chart={stepsChart(steps)} fileName={fileName("steps")} height={280} />
      )}
      <Tables context={context} names={["steps", "phases"]} />
    </>
  );
}

/** What changed most, as a picture and tables. */
function NamesTab({ context, names, measures }: { readonly context: ViewContext; readonly names: readonly string[]; readonly measures: readonly string[] }) {
  const { view, fileName } = context;
  const mode = useNameMode();
  const [first = ""] = names;
  const table = view.tables[first];
  const measure = table === undefined ? undefined : measures.find((key) => table.rows.some((row) => Number(cellOf(table, row, `delta_${key}`) ?? 0) !== 0));
  return (
    <>
      {table !== undefined && measure !== undefined && (
        <Chart
          title={`Largest changes: ${table.title.toLowerCase()}`}
          help={`The ${MOST_BARS} rows whose time changed most.`}
          chart={changesChart(table, measure, (row) => rowLabel(table, row, mode))}
          fileName={fileName(`${first}_changes`)}
          height={320}
        />
      )}
      <Tables context={context} names={names} />
      {names.every((name) => (view.tables[name]?.row_count ?? 0) === 0) && <p className="soft">{table?.why_empty ?? "No data in this selection."}</p>}
    </>
  );
}

/** Peaks first, then what holds the memory. */
function MemoryTab({ context }: { readonly context: ViewContext }) {
  const names = Object.keys(context.view.tables).filter((name) => name.startsWith("memory"));
  const isEmpty = names.every((name) => (context.view.tables[name]?.row_count ?? 0) === 0);
  return isEmpty ? (
    <p className="soft">Memory is compared where both sides record it: profile with profile_memory=True, or take memory snapshots.</p>
  ) : (
    <Tables context={context} names={names} />
  );
}

/** Tables that have rows, one below the other. */
function Tables({ context, names }: { readonly context: ViewContext; readonly names: readonly string[] }) {
  return names.map((name) => <ComparedTable key={name} context={context} name={name} />);
}

function ComparedTable({ context: { view, source, fileName }, name }: { readonly context: ViewContext; readonly name: string }) {
  const table = view.tables[name];
  if (table === undefined || table.row_count === 0) return null;
  return (
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
  );
}

function FoldedComparison({ context, name }: { readonly context: ViewContext; readonly name: string }) {
  const table = context.view.tables[name];
  if (table === undefined || table.row_count === 0) return null;
  return (
    <Fold id={name} title={table.title} answer={countText(table)}>
      <ComparedTable context={context} name={name} />
    </Fold>
  );
}
