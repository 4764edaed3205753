/** Where the time of a step went, and what to change. */
import type { Fact, Table } from "../api/types";
import { Chart } from "../chart/Chart";
import { colorVariable } from "../chart/palette";
import { ShareCard, type SharePart } from "../chart/ShareCard";
import { numberOf, textOf } from "../lib/rows";
import { navigate } from "../state/urlStore";
import { DataTable } from "../table/DataTable";
import { EmptySelection } from "./EmptySelection";
import { BigFacts } from "./Facts";
import { Findings } from "./Findings";
import { bigFacts } from "./overview/bigFacts";
import { withClassTitles } from "./overview/categories";
import { Dashboard } from "./overview/Dashboard";
import { Guidance } from "./overview/Guidance";
import { MindSporeParts } from "./overview/MindSporeParts";
import { System } from "./overview/System";
import { Throughput } from "./overview/Throughput";
import { QualityNotes } from "./QualityNotes";
import { stepChart, stepsInRange } from "./steps";
import { TopRows } from "./TopRows";
import { ViewFrame, type PageProps, type ViewContext } from "./ViewFrame";

export function OverviewPage(props: PageProps) {
  return (
    <ViewFrame {...props} beforeFindings>
      {(context) => {
        const { view, source, fileName } = context;
        const { average_step: average, steps, gpus, guidance, mindspore_parts: insight, resources_by_gpu: perGpu } = view.tables;
        return (
          <>
            <BigFacts shown={bigFacts(view)} notes={view.notes} />
            {steps?.row_count === 0 && <EmptySelection noun="step" consequence="The numbers below are missing, not zero." />}
            <Findings notes={view.notes} always={steps?.row_count !== 0} checked={view.tables["checked"]} pending={view.findings_pending === true} />
            {insight !== undefined && <MindSporeParts context={context} table={insight} />}
            <Dashboard context={context} />
            {steps !== undefined && steps.row_count > 0 && (
              <div className="chart-row">
                <Chart
                  title="Step time"
                  help={`${steps.help} Click a bar to select that step, or drag over several.`}
                  chart={stepChart(steps)}
                  fileName={fileName("steps")}
                  height={280}
                  onPick={(index) => navigate({ steps: stepsInRange(steps, { start: index, end: index }), start_us: null, end_us: null })}
                  onSelect={(range) => navigate({ steps: stepsInRange(steps, range), start_us: null, end_us: null })}
                />
                {average !== undefined && <AverageStep table={average} facts={view.facts} fileName={fileName("average_step")} />}
              </div>
            )}
            <Throughput context={context} />
            <div className="tops">
              <TopRows context={context} name="top_operators" view="operators" />
              <TopRows context={context} name="top_kernels" view="kernels" />
            </div>
            <div className="columns">
              <Classes context={context} name="operator_classes" />
              <Classes context={context} name="kernel_classes" />
            </div>
            {perGpu !== undefined && perGpu.row_count > 1 && (
              <DataTable name="overview.resources_by_gpu" table={perGpu} source={source("resources_by_gpu")} address="resources_by_gpu" fileName={fileName("resources_by_gpu")} notes={view.notes} />
            )}
            {gpus !== undefined && gpus.row_count > 0 && (
              <DataTable name="overview.gpus" table={gpus} source={source("gpus")} address="gpus" fileName={fileName("gpus")} notes={view.notes} />
            )}
            {steps !== undefined && (
              <DataTable name="overview.steps" table={steps} source={source("steps")} address="steps" fileName={fileName("steps")} notes={view.notes} maxHeight="400px" />
            )}
            <div className="columns">
              <QualityNotes notes={view.notes} always />
              <System target={context.target} facts={view.facts} />
            </div>
            {guidance !== undefined && <Guidance table={guidance} />}
          </>
        );
      }}
    </ViewFrame>
  );
}

/** A table of classes, with their titles instead of keys. */
function Classes({ context, name }: { readonly context: ViewContext; readonly name: string }) {
  const table = context.view.tables[name];
  // Without any values, a panel above has the reason.
  if (table === undefined || table.rows.every((row) => numberOf(table, row, "gpu_time_us") === null)) return null;
  return <DataTable name={`overview.${name}`} table={withClassTitles(table)} source={null} address={name} fileName={context.fileName(name)} notes={context.view.notes} />;
}

interface AverageStepProps {
  readonly table: Table;
  readonly facts: readonly Fact[];
  readonly fileName: string;
}

function AverageStep({ table, facts, fileName }: AverageStepProps) {
  const parts = table.rows.map((row): SharePart => {
    const name = textOf(table, row, "category");
    return {
      name,
      us: numberOf(table, row, "duration_us"),
      pct: numberOf(table, row, "pct"),
      color: colorVariable(name),
    };
  });
  const total = facts.find((fact) => fact.key === "average_step_us")?.value;
  return (
    <div data-table="average_step">
      <ShareCard
        title={table.title}
        help={table.help}
        parts={parts}
        totalUs={typeof total === "number" ? total : null}
        nullReason={table.null_reasons["duration_us"] ?? "Does not apply here."}
        fileName={fileName}
      />
    </div>
  );
}
