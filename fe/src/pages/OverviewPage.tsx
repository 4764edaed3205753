/** What is slow, and what to do: verdict, step bar, findings, where the time goes; all else is folded below. */
import { Chart } from "../chart/Chart";
import { navigate } from "../state/urlStore";
import { DataTable } from "../table/DataTable";
import { Fold } from "../ui/Fold";
import { Checks } from "./Checks";
import { EmptySelection } from "./EmptySelection";
import { BigFacts } from "./Facts";
import { Findings } from "./Findings";
import { numberOf } from "../lib/rows";
import { bigFacts } from "./overview/bigFacts";
import { withClassTitles } from "./overview/categories";
import { Dashboard } from "./overview/Dashboard";
import { checksAnswer, gpusAnswer, stepsAnswer, systemAnswer, throughputAnswer } from "./overview/foldAnswers";
import { Guidance } from "./overview/Guidance";
import { MindSporeParts } from "./overview/MindSporeParts";
import { StepBar } from "./overview/StepBar";
import { System } from "./overview/System";
import { Throughput } from "./overview/Throughput";
import { WhereTimeGoes } from "./overview/WhereTimeGoes";
import { QualityNotes } from "./QualityNotes";
import { stepChart, stepsInRange } from "./steps";
import { ViewFrame, type PageProps, type ViewContext } from "./ViewFrame";

export function OverviewPage(props: PageProps) {
  return (
    <ViewFrame {...props} beforeFindings>
      {(context) => {
        const { view, fileName } = context;
        const { steps, mindspore_parts: insight } = view.tables;
        return (
          <>
            {steps?.row_count === 0 && <EmptySelection noun="step" consequence="Numbers per step are missing, not zero." />}
            <StepBar view={view} fileName={fileName("average_step")} />
            <Findings notes={view.notes} always={steps?.row_count !== 0} pending={view.findings_pending === true} />
            {insight !== undefined && <MindSporeParts context={context} table={insight} />}
            <WhereTimeGoes context={context} />
            <Folds context={context} />
          </>
        );
      }}
    </ViewFrame>
  );
}

function Folds({ context }: { readonly context: ViewContext }) {
  const { view, source, fileName } = context;
  const { steps, gpus, guidance, resources_by_gpu: perGpu, checked, throughput } = view.tables;
  const codes = view.notes.filter(({ kind }) => kind === "advice").map(({ code }) => code);
  return (
    <div className="folds">
      {steps !== undefined && steps.row_count > 0 && (
        <Fold id="steps" title="Steps" answer={stepsAnswer(steps)} tables={["steps"]}>
          <Chart
            title="Step time"
            help={`${steps.help} Click a bar to select that step, or drag over several.`}
            chart={stepChart(steps)}
            fileName={fileName("steps")}
            height={280}
            onPick={(index) => navigate({ steps: stepsInRange(steps, { start: index, end: index }), start_us: null, end_us: null })}
            onSelect={(range) => navigate({ steps: stepsInRange(steps, range), start_us: null, end_us: null })}
          />
          <DataTable name="overview.steps" table={steps} source={source("steps")} address="steps" fileName={fileName("steps")} notes={view.notes} maxHeight="400px" />
        </Fold>
      )}
      {gpus !== undefined && (
        <Fold id="devices" title={gpus.title} answer={gpusAnswer(view)} tables={["gpus", "resources", "resources_by_gpu", "operator_classes", "kernel_classes"]}>
          <BigFacts shown={bigFacts(view)} notes={view.notes} />
          <Dashboard context={context} />
          {gpus.row_count > 0 && <DataTable name="overview.gpus" table={gpus} source={source("gpus")} address="gpus" fileName={fileName("gpus")} notes={view.notes} />}
          {perGpu !== undefined && perGpu.row_count > 1 && (
            <DataTable name="overview.resources_by_gpu" table={perGpu} source={source("resources_by_gpu")} address="resources_by_gpu" fileName={fileName("resources_by_gpu")} notes={view.notes} />
          )}
          <div className="columns">
            <Classes context={context} name="operator_classes" />
            <Classes context={context} name="kernel_classes" />
          </div>
        </Fold>
      )}
      {throughput !== undefined && throughput.row_count > 0 && (
        <Fold id="throughput" title={throughput.title} answer={throughputAnswer(view.facts)} tables={["throughput"]}>
          <Throughput context={context} />
        </Fold>
      )}
      {checked !== undefined && checked.row_count > 0 && (
        <Fold id="checks" title="Checks" answer={checksAnswer(checked, codes)} tables={["checked"]}>
          <Checks table={checked} />
        </Fold>
      )}
      <QualityNotes notes={view.notes} always={false} />
      <Fold id="system" title="System" answer={systemAnswer(view.facts)}>
        <System target={context.target} facts={view.facts} />
      </Fold>
      {guidance !== undefined && (
        <Fold id="guidance" title={guidance.title} answer={`${guidance.row_count} public guides`}>
          <Guidance table={guidance} />
        </Fold>
      )}
    </div>
  );
}

/** A table of classes, with their titles instead of keys. */
function Classes({ context, name }: { readonly context: ViewContext; readonly name: string }) {
  const table = context.view.tables[name];
  // Without any values, a panel above has the reason.
  if (table === undefined || table.rows.every((row) => numberOf(table, row, "gpu_time_us") === null)) return null;
  return <DataTable name={`overview.${name}`} table={withClassTitles(table)} source={null} address={name} fileName={context.fileName(name)} notes={context.view.notes} />;
}
