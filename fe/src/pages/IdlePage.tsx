/** Idle time of devices: its causes, the gaps, and the launches and queues behind them. */
import type { ReactNode } from "react";

import type { Row, Table } from "../api/types";
import { Chart } from "../chart/Chart";
import { seriesChart } from "../chart/chartData";
import { numberOf, textOf } from "../lib/rows";
import { visibleText } from "../lib/visibleText";
import { DataTable } from "../table/DataTable";
import { ShowRangeOnTimeline } from "../timeline/ShowOnTimeline";
import { ViewLink } from "../ui/ViewLink";
import { BigFacts, FactList } from "./Facts";
import { delayChart, timeOfGpus } from "./idle/idleCharts";
import { kernelLink, operatorLink, type Link } from "./links";
import { CallStacks } from "./operators/CallStacks";
import { PageNotes } from "./PageNotes";
import { ViewFrame, type PageProps, type ViewContext } from "./ViewFrame";

/** Tabs beside the causes. */
const GAPS = "gaps";
const LAUNCHES = "launches";
const LEADING: ReadonlySet<string> = new Set(["idle_pct", "main_cause"]);
/** Above this only the chart and the table show them. */
const MAX_BIG_FACTS = 8;
const BAR_PX = 26;
const AXIS_PX = 40;

export function IdlePage(props: PageProps) {
  return (
    <ViewFrame {...props} longTable="gaps">
      {(context) => {
        const { view } = context;
        const leading = view.facts.filter(({ key }) => LEADING.has(key));
        const isFew = leading.length <= MAX_BIG_FACTS;
        return (
          <>
            {context.tab === GAPS && (
              <>
                <StepChart context={context} />
                <Part context={context} name="gaps" detail={(table) => (row) => <Gap context={context} table={table} row={row} />} />
              </>
            )}
            {context.tab === LAUNCHES && (
              <>
                <Delays context={context} />
                <Part context={context} name="launch_delays" />
                <Queues context={context} />
                <Part context={context} name="streams" />
              </>
            )}
            {context.tab !== GAPS && context.tab !== LAUNCHES && (
              <>
                {isFew && <BigFacts facts={leading} notes={view.notes} />}
                <DeviceTimes context={context} />
                <Part context={context} name="causes" />
                <FactList facts={isFew ? view.facts.filter(({ key }) => !LEADING.has(key)) : view.facts} title="Summary" />
              </>
            )}
            <PageNotes notes={view.notes} />
          </>
        );
      }}
    </ViewFrame>
  );
}

function DeviceTimes({ context: { view, fileName } }: { readonly context: ViewContext }) {
  const gpuTime = timeOfGpus(view);
  if (gpuTime === null) return null;
  return (
    <Chart
      title="Where the time of each device goes"
      help="Every moment of the selected steps is either busy or idle for exactly one cause."
      chart={gpuTime}
      fileName={fileName("time_of_gpus")}
      height={AXIS_PX + BAR_PX * gpuTime.categories.length}
    />
  );
}

function StepChart({ context: { view, fileName } }: { readonly context: ViewContext }) {
  const { idle_by_step: bySteps } = view.series;
  if (bySteps === undefined || !bySteps.lines.some(({ x }) => x.length > 1)) return null;
  return <Chart title={bySteps.title} chart={seriesChart(bySteps)} fileName={fileName("idle_by_step")} height={240} />;
}

function Delays({ context: { view, fileName } }: { readonly context: ViewContext }) {
  const { launch_delays: delays } = view.series;
  if (delays === undefined || delays.lines.length === 0) return null;
  return (
    <Chart
      title="Launch delay"
      help="Time from the end of the launch call to the start of the work. Long delays mean that the host is ahead, which is good; delays below about 10 µs mean that the device waits for each launch."
      chart={delayChart(delays)}
      fileName={fileName("launch_delays")}
      height={260}
      extra={<span className="soft">short delays: the device waits for the host; long delays: the host is ahead</span>}
    />
  );
}

function Queues({ context: { view, fileName } }: { readonly context: ViewContext }) {
  const { queues } = view.series;
  if (queues === undefined || queues.lines.length === 0) return null;
  return (
    <Chart
      title={queues.title}
      help="Launched work that has not started yet. Near 0 the stream waits for each launch."
      chart={seriesChart(queues)}
      fileName={fileName("queues")}
      height={240}
      extra={<span className="soft">at 0 the stream waits for the host</span>}
    />
  );
}

interface PartProps {
  readonly context: ViewContext;
  readonly name: string;
  readonly detail?: (table: Table) => (row: Row) => ReactNode;
}

function Part({ context: { view, source, fileName }, name, detail }: PartProps) {
  const table = view.tables[name];
  if (table === undefined) return null;
  return (
    <DataTable
      name={`idle.${name}`}
      table={table}
      source={source(name)}
      address={name}
      fileName={fileName(name)}
      notes={view.notes}
      maxHeight="480px"
      {...(detail === undefined ? {} : { detail: detail(table), rowId: (row: Row) => `${textOf(table, row, "gpu")} ${textOf(table, row, "start_us")}` })}
    />
  );
}

const DETAIL_KEYS = ["host", "before", "after", "operator", "host_call"] as const;
/** Details that are names with a page of their own. */
const LINKED: Readonly<Partial<Record<(typeof DETAIL_KEYS)[number], (name: string) => Link>>> = { operator: operatorLink, before: kernelLink, after: kernelLink };

/** The details of a gap, with a link to the timeline. */
function Gap({ context, table, row }: { readonly context: ViewContext; readonly table: Table; readonly row: Row }) {
  const operator = textOf(table, row, "operator");
  const start = numberOf(table, row, "start_us");
  const duration = numberOf(table, row, "duration_us");
  return (
    <>
      <dl className="facts">
        {DETAIL_KEYS.map((key) => (
          <div key={key} style={{ display: "contents" }}>
            <dt>{table.columns.find((column) => column.key === key)?.title ?? key}</dt>
            <dd>
              <Name context={context} name={textOf(table, row, key)} link={LINKED[key]} />
            </dd>
          </div>
        ))}
      </dl>
      {start !== null && duration !== null && (
        <p>
          <ShowRangeOnTimeline range={{ startNs: start * 1e3, endNs: (start + duration) * 1e3, slice: null, worker: null }} />
        </p>
      )}
      {operator !== "" && <CallStacks context={context} name={operator} />}
    </>
  );
}

interface NameProps {
  readonly context: ViewContext;
  readonly name: string;
  readonly link: ((name: string) => Link) | undefined;
}

function Name({ context, name, link }: NameProps) {
  const to = name === "" ? undefined : link?.(name);
  if (to === undefined || !context.hasView(to.view)) return visibleText(name) || "–";
  return <ViewLink {...to}>{visibleText(name)}</ViewLink>;
}
