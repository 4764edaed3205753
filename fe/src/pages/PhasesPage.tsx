/** Phases: a step as a diagram, its parts over the steps, and summaries. */
import type { Query } from "../api/client";
import type { Row, Table } from "../api/types";
import { Chart } from "../chart/Chart";
import { seriesChart } from "../chart/chartData";
import { colorVariable } from "../chart/palette";
import { ShareCard, type SharePart } from "../chart/ShareCard";
import { selectionQuery } from "../state/selection";
import { traceQuery } from "../state/target";
import { adjust, useParams } from "../state/urlStore";
import { DataTable } from "../table/DataTable";
import { Fold } from "../ui/Fold";
import { ViewLink } from "../ui/ViewLink";
import { EmptySelection } from "./EmptySelection";
import { FactList } from "./Facts";
import { PhaseBoundaries, type NamesView } from "./phases/PhaseBoundaries";
import { StepDiagram } from "./phases/StepDiagram";
import { recordedStepDiagram, stepDiagram, undividedStepDiagram, type StepDiagram as Diagram } from "./phases/stepParts";
import { MOST_TYPES, typeBars } from "./phases/typeBars";
import "./phases/phases.css";
import { numberOf, textOf } from "../lib/rows";
import { Segmented } from "../ui/Segmented";
import { PageNotes } from "./PageNotes";
import { FoldedTable } from "./PageTable";
import { ViewFrame, type PageProps, type ViewContext } from "./ViewFrame";

const STEP_TRACE = "step_trace";
const RECORDED_STEP_TRACE = "recorded_step_trace";
const WINDOWS = "serving_windows";
const MEAN = "mean";
/** Code of the note that both passes are in forward. */
const UNDIVIDED = "passes_not_divided";
/** Secondary tables. */
const FOLDED: readonly string[] = ["event_types", "memory_operations", "user_ranges"];
/** Prefix of tables that come from files of the recording. */
const RECORDED = "recorded_";
/** More steps than this are chosen in the table only. */
const LISTED_STEPS = 1000;
const BAR_PX = 22;
const AXIS_PX = 48;

/** Where the names of boundaries come from, the first that has any. */
const NAMES: readonly NamesView[] = ["operators", "kernels"];

export function PhasesPage(props: PageProps) {
  const names = NAMES.find((name) => props.views.some((each) => each.name === name && each.available));
  const query = { ...traceQuery(props.target), iterations_by: selectionQuery(useParams())["iterations_by"] };
  return (
    <ViewFrame {...props} above={names === undefined ? null : <Boundaries query={query} view={names} />}>
      {(context) => {
        const { view, fileName } = context;
        const { phases, [STEP_TRACE]: steps, [RECORDED_STEP_TRACE]: recordedTrace, [WINDOWS]: windows, event_types: types } = view.tables;
        const { step_parts: parts, ...recordedParts } = view.series;
        const isUndivided = view.notes.some(({ code }) => code === UNDIVIDED);
        const recorded = Object.keys(view.tables).filter((name) => name.startsWith(RECORDED));
        const computed = Object.keys(view.tables).filter((name) => name !== WINDOWS && !recorded.includes(name));
        // Without a computed step trace the recorded tables come first.
        const hasStepTrace = parts?.lines.some(({ y }) => y.some((each) => each !== null)) === true || recorded.length === 0;
        return (
          <>
            {steps?.row_count === 0 && recorded.length === 0 && <EmptySelection noun="step" />}
            {windows !== undefined && <Tables context={context} names={[WINDOWS]} />}
            {hasStepTrace && steps !== undefined && steps.row_count > 0 && <Step table={steps} diagramOf={isUndivided ? undividedStepDiagram : stepDiagram} fileName={fileName("step")} />}
            {recordedTrace !== undefined && recordedTrace.row_count > 0 && <Step table={recordedTrace} suffix=", as recorded" diagramOf={recordedStepDiagram} fileName={fileName("recorded_step")} />}
            {phases !== undefined && (
              <div className="chart-row even">
                <PhaseShares table={phases} side="cpu" title={names === "kernels" ? "Step time by phase" : "Host time by phase"} fileName={fileName("host")} />
                <PhaseShares table={phases} side="gpu" title="Device time by phase" fileName={fileName("device")} />
              </div>
            )}
            {hasStepTrace && parts !== undefined && (steps?.row_count ?? 0) > 2 && (
              <Chart title={parts.title} chart={seriesChart(parts)} fileName={fileName("parts")} height={240} />
            )}
            {Object.entries(recordedParts).map(([name, series]) => (
              <Chart key={name} title={series.title} chart={seriesChart(series)} fileName={fileName(`${name}_parts`)} height={240} />
            ))}
            {!hasStepTrace && <Tables context={context} names={recorded} />}
            {types !== undefined && types.rows.length > 1 && (
              <Chart title="Time by event type" help={types.help} chart={typeBars(types)} fileName={fileName("types")} height={AXIS_PX + BAR_PX * Math.min(types.rows.length, MOST_TYPES)} />
            )}
            <Tables context={context} names={computed.filter((name) => !FOLDED.includes(name))} />
            {hasStepTrace && <Tables context={context} names={recorded} />}
            {FOLDED.map((name) => (
              <FoldedTable key={name} context={context} name={name} />
            ))}
            <FactList title="How the phases were detected" facts={view.facts} />
            <PageNotes notes={view.notes} />
          </>
        );
      }}
    </ViewFrame>
  );
}

/** Folded while the phases are as detected. */
function Boundaries({ query, view }: { readonly query: Query; readonly view: NamesView }) {
  const params = useParams();
  const isChosen = "forward_start" in params || "backward_end" in params;
  return (
    <Fold id="boundaries" title="Phase boundaries" answer={isChosen ? "chosen" : "as detected"} isUsed={isChosen}>
      <PhaseBoundaries query={query} view={view} />
    </Fold>
  );
}

interface StepProps {
  readonly table: Table;
  readonly diagramOf: (table: Table, row: Row) => Diagram;
  /** Behind the name of the step. */
  readonly suffix?: string;
  readonly fileName: string;
}

function Step({ table, diagramOf, suffix = "", fileName }: StepProps) {
  const { step } = useParams() as Record<string, string | undefined>;
  const names = table.rows.map((row) => textOf(table, row, "step"));
  const at = (name: string) => table.rows[names.lastIndexOf(name)];
  // With a single step, the mean is that step.
  const chosen = names.includes(step ?? MEAN) ? (step ?? MEAN) : (names.at(-1) ?? MEAN);
  const row = at(chosen);
  if (row === undefined) return null;
  const mean = chosen === MEAN ? undefined : at(MEAN);
  const choice = names.length > 2 && names.length <= LISTED_STEPS ? (
    <Segmented
      label={`Step${suffix}`}
      values={[...new Set([MEAN, ...names])]}
      value={chosen}
      onPick={(value) => adjust({ step: value === MEAN ? null : value })}
      title={(value) => (value === MEAN ? "Mean" : `Step ${value}`)}
    />
  ) : null;
  const title = `${chosen === MEAN ? "Mean step" : `Step ${chosen}`}${suffix}`;
  return (
    <StepDiagram
      title={title}
      help={table.help}
      diagram={diagramOf(table, row)}
      mean={mean === undefined ? undefined : diagramOf(table, mean)}
      fileName={fileName}
      choice={choice}
    />
  );
}

/** The views that show what ran in a phase. */
const INSIDE = {
  cpu: { view: "operators", title: "The operators of this phase" },
  gpu: { view: "kernels", title: "The kernels of this phase" },
} as const;

interface SharesProps {
  readonly table: Table;
  readonly side: "cpu" | "gpu";
  readonly title: string;
  readonly fileName: string;
}

function PhaseShares({ table, side, title, fileName }: SharesProps) {
  const key = `${side}_total_us`;
  const rows = table.rows.filter((row) => textOf(table, row, "phase") !== "step");
  const whole = table.rows.find((row) => textOf(table, row, "phase") === "step");
  const totalUs = whole === undefined ? null : numberOf(table, whole, key);
  if (totalUs === null || totalUs === 0) return null;
  if (rows.every((row) => numberOf(table, row, key) === null)) return null;
  const parts = rows.map((row): SharePart => {
    const name = textOf(table, row, "phase");
    const us = numberOf(table, row, key);
    const part = { name, us, pct: numberOf(table, row, `${side}_pct`), color: colorVariable(name) };
    return us === null || us === 0 ? part : { ...part, label: <PhaseLink side={side} phase={name} /> };
  });
  return (
    <ShareCard title={title} help={table.help} parts={parts} totalUs={totalUs} nullReason={table.null_reasons[key] ?? "Does not apply here."} fileName={fileName} />
  );
}

function PhaseLink({ side, phase }: { readonly side: "cpu" | "gpu"; readonly phase: string }) {
  return (
    <ViewLink {...INSIDE[side]} params={{ phase }} className="phase-link">
      {phase}
    </ViewLink>
  );
}

function Tables({ context, names }: { readonly context: ViewContext; readonly names: readonly string[] }) {
  const { view, source, fileName } = context;
  const { step } = useParams() as Record<string, string | undefined>;
  return names.map((name) => {
    const table = view.tables[name];
    if (table === undefined) return null;
    const stepOf = (row: Row) => textOf(table, row, "step");
    // The chosen row is drawn in the diagram.
    const choosing = name !== STEP_TRACE && name !== RECORDED_STEP_TRACE ? {} : { rowId: stepOf, choice: { id: step ?? MEAN, onChoose: (row: Row) => adjust({ step: stepOf(row) === MEAN ? null : stepOf(row) }) } };
    return (
      <DataTable
        key={name}
        name={`phases.${name}`}
        table={table}
        source={source(name)}
        address={name}
        fileName={fileName(name)}
        notes={view.notes}
        maxHeight="420px"
        {...choosing}
      />
    );
  });
}
