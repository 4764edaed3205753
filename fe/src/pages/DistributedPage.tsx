/** Whether workers compute, communicate or wait, which worker delays the others, and in which collectives. */
import { useMemo } from "react";

import type { Row, Table } from "../api/types";
import { Chart } from "../chart/Chart";
import type { CategoryChart } from "../chart/types";
import { numberOf, textOf } from "../lib/rows";
import { adjust, navigate, useParams } from "../state/urlStore";
import { Segmented } from "../ui/Segmented";
import { EmptySelection } from "./EmptySelection";
import { BigFacts } from "./Facts";
import { NodeMap } from "./nodeMap/NodeMap";
import { PageNotes } from "./PageNotes";
import { PageTable } from "./PageTable";
import { RankMatrix } from "./rankMatrix/RankMatrix";
import { ViewFrame, type PageProps } from "./ViewFrame";

const OVERLAP = ["computation_us", "overlap_us", "communication_us", "other_us"];
const WAIT = ["transfer_us", "wait_us"];
/** The parts of a step in files of MindSpore clusters; each pair is the whole step. */
const CLUSTER_PARTS: readonly (readonly [string, readonly string[]])[] = [
  ["Communication alone in the step, as recorded", ["without_communication_us", "communication_alone_us"]],
  ["Receiving alone in the step, as recorded", ["stage_us", "receive_alone_us"]],
];
/** Of more workers the communication that nothing overlaps is drawn as a matrix. */
const MOST_BARS = 64;
const EXPOSED = "communication_us";
/** Of more steps one is chosen in a list. */
const MOST_BUTTONS = 12;
/** The name of the row over all steps. */
const ALL_STEPS = "all";
/** Tables that files of the recording hold. */
const RECORDED = ["cluster_steps", "recorded_collectives", "links"];
const COLLECTIVES = "collectives";
/** The tables of each tab, below its charts. */
const RANK_TABLES = ["stragglers", "overlap", "wait", "cluster_steps", "node_links", "devices"];
const COLLECTIVE_TABLES = [COLLECTIVES, "recorded_collectives", "links", "unmatched"];

export function DistributedPage(props: PageProps) {
  const params = useParams();
  return (
    <ViewFrame {...props} longTable="collectives">
      {(context) => {
        const { view, fileName } = context;
        const { overlap, wait } = view.tables;
        const hasRecorded = RECORDED.some((name) => (view.tables[name]?.row_count ?? 0) > 0);
        const cluster = view.tables["cluster_steps"];
        // Of workers without events their files alone have steps.
        const stepped = (overlap?.row_count ?? 0) > 0 ? overlap : cluster;
        const steps = stepped === undefined ? [] : [...new Set(stepped.rows.map((row) => textOf(stepped, row, "step")))];
        const step = steps.find((each) => each === params["step"]) ?? steps[0] ?? ALL_STEPS;
        // Of many workers a cell each: bars would be narrower than a pixel.
        const isCrowded = overlap !== undefined && rowsOfStep(overlap, step).length > MOST_BARS;
        // Above both charts, as it applies to both.
        const stepSwitch = steps.length > 1 && (
          <div>
            {steps.length > MOST_BUTTONS ? (
              <select className="field" aria-label="Step" value={step} onChange={({ target }) => adjust({ step: target.value })}>
                {steps.map((each) => (
                  <option key={each} value={each}>
                    {stepTitle(each)}
                  </option>
                ))}
              </select>
            ) : (
              <Segmented label="Step" values={steps} value={step} onPick={(value) => adjust({ step: value })} title={stepTitle} />
            )}
          </div>
        );
        const tables = (names: readonly string[]) =>
          names.map((name) => {
            if (view.tables[name]?.row_count === 0 && (name !== COLLECTIVES || hasRecorded)) return null;
            return <PageTable key={name} context={context} name={name} />;
          });
        if (context.tab === COLLECTIVES) {
          return (
            <>
              {tables(COLLECTIVE_TABLES)}
              <PageNotes notes={view.notes} />
            </>
          );
        }
        return (
          <>
            <BigFacts facts={view.facts} notes={view.notes} />
            {overlap?.row_count === 0 && !hasRecorded && <EmptySelection noun="communication" />}
            {stepSwitch}
            {overlap !== undefined && isCrowded && <OverlapMatrix table={overlap} step={step} fileName={fileName("overlap")} />}
            <div className="chart-row even">
              {overlap !== undefined && overlap.row_count > 0 && !isCrowded && (
                <Chart
                  title={overlap.title}
                  help={overlap.help}
                  chart={workerChart(overlap, OVERLAP, step)}
                  fileName={fileName("overlap")}
                  height={300}
                  nullReason={firstReason(overlap, OVERLAP)}
                  onPick={(index) => openWorker(overlap, step, index)}
                />
              )}
              {wait !== undefined && overlap !== undefined && overlap.row_count > 0 && !isCrowded && (
                <Chart title={wait.title} help={wait.help} chart={workerChart(wait, WAIT, step)} fileName={fileName("wait")} height={300} nullReason={firstReason(wait, WAIT)} />
              )}
            </div>
            <div className="chart-row even">
              {cluster !== undefined &&
                CLUSTER_PARTS.filter(([, keys]) => hasValues(cluster, keys, step)).map(([title, keys]) => (
                  <Chart
                    key={title}
                    title={title}
                    help={cluster.help}
                    chart={workerChart(cluster, keys, step)}
                    fileName={fileName("cluster_steps")}
                    height={300}
                    onPick={(index) => openWorker(cluster, step, index)}
                  />
                ))}
            </div>
            {view.tables["node_map"] !== undefined && view.tables["node_map"].row_count > 1 && <NodeMap map={view.tables["node_map"]} links={view.tables["node_links"]} />}
            {tables(RANK_TABLES)}
            <PageNotes notes={view.notes} />
          </>
        );
      }}
    </ViewFrame>
  );
}

function OverlapMatrix({ table, step, fileName }: { readonly table: Table; readonly step: string; readonly fileName: string }) {
  const column = table.columns.find(({ key }) => key === EXPOSED);
  const ranks = useMemo(() => rowsOfStep(table, step).map((row) => ({ worker: textOf(table, row, "worker"), rank: null, value: numberOf(table, row, EXPOSED), isOutlier: false })), [table, step]);
  if (column === undefined) return null;
  const title = `${column.title} of each worker`;
  return <RankMatrix title={title} help={column.help} ranks={ranks} measure={column} fileName={fileName} nullReason={table.null_reasons[EXPOSED]} onOpen={(worker) => navigate({ view: "overview", worker, step: null })} />;
}

function rowsOfStep(table: Table, step: string): readonly Row[] {
  return table.rows.filter((row) => textOf(table, row, "step") === step);
}

function stepTitle(step: string): string {
  return step === ALL_STEPS ? "Mean of the steps" : `Step ${step}`;
}

function hasValues(table: Table, keys: readonly string[], step: string): boolean {
  return rowsOfStep(table, step).some((row) => keys.some((key) => numberOf(table, row, key) !== null));
}

/** Why a chart of these columns may be empty. */
function firstReason(table: Table, keys: readonly string[]): string | undefined {
  if (table.why_empty !== null) return table.why_empty;
  return keys.map((key) => table.null_reasons[key]).find((reason) => reason !== undefined);
}

/** One stacked bar per worker. */
export function workerChart(table: Table, keys: readonly string[], step: string): CategoryChart {
  const rows = rowsOfStep(table, step);
  return {
    kind: "stacked_bar",
    horizontal: false,
    categories: rows.map((row) => textOf(table, row, "worker")),
    lines: keys.flatMap((key) => {
      const column = table.columns.find((each) => each.key === key);
      if (column === undefined) return [];
      const values = rows.map((row) => numberOf(table, row, key));
      return [{ name: column.title, values }];
    }),
    categoryTitle: "Worker",
    value: { title: "Time", unit: "us" },
  };
}

/** The overview of the worker whose bar was clicked. */
function openWorker(table: Table, step: string, index: number): void {
  const row = rowsOfStep(table, step)[index];
  if (row !== undefined) navigate({ view: "overview", worker: textOf(table, row, "worker"), step: null });
}
