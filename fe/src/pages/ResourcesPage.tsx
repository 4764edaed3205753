/** Samples of the host and of devices: a chart per unit, with the steps on the same axis. */
import type { View } from "../api/types";
import { Chart } from "../chart/Chart";
import { seriesChart } from "../chart/chartData";
import { isCurve, type ChartData, type ChartRange, type Vertical } from "../chart/types";
import { numberOf, textOf } from "../lib/rows";
import { visibleText } from "../lib/visibleText";
import { NO_TIME } from "../state/selection";
import { navigate } from "../state/urlStore";
import { EmptySelection } from "./EmptySelection";
import { PageNotes } from "./PageNotes";
import { PageTable } from "./PageTable";
import { ViewFrame, type PageProps } from "./ViewFrame";

const ORIGIN = "origin_us";
const SUMMARY = "summary";
const DEVICES = "devices_";

export function ResourcesPage(props: PageProps) {
  return (
    <ViewFrame {...props} longTable={SUMMARY}>
      {(context) => {
        const { view, fileName } = context;
        const table = view.tables[SUMMARY];
        const origin = view.facts.find((fact) => fact.key === ORIGIN)?.value;
        const select = ({ start, end }: ChartRange) => {
          if (typeof origin === "number") navigate({ ...NO_TIME, start_us: (origin + start).toFixed(3), end_us: (origin + end).toFixed(3) });
        };
        const axis = { verticals: stepMarks(view), ...wholeRange(view) };
        return (
          <>
            {table?.row_count === 0 && <EmptySelection noun="sample" />}
            <div className="chart-row even">
              {Object.entries(view.series).filter(([name]) => isOfTab(name, context.tab)).map(([name, series]) => (
                <Chart key={name} title={visibleText(series.title)} chart={onAxis(seriesChart({ ...series, y_title: visibleText(series.y_title) }), axis)} fileName={fileName(name)} height={200} {...(typeof origin === "number" ? { onSelect: select } : {})} />
              ))}
            </div>
            <PageTable context={context} name={SUMMARY} />
            <PageNotes notes={view.notes} />
          </>
        );
      }}
    </ViewFrame>
  );
}

/** Curves of devices are counters; the others are of the host and its processes. */
function isOfTab(series: string, tab: string): boolean {
  return series.startsWith(DEVICES) === (tab === "counters");
}

function onAxis(chart: ChartData, axis: { readonly verticals: readonly Vertical[]; readonly range?: ChartRange }): ChartData {
  return isCurve(chart) ? { ...chart, ...axis } : chart;
}

/** From the first to the last sample of all curves, so that all charts share an axis. */
function wholeRange(view: View): { range?: ChartRange } {
  let [start, end] = [Infinity, -Infinity];
  for (const { lines } of Object.values(view.series)) {
    for (const { x } of lines) {
      start = Math.min(start, x[0] ?? Infinity);
      end = Math.max(end, x.at(-1) ?? -Infinity);
    }
  }
  return start < end ? { range: { start, end } } : {};
}

/** Vertical lines where steps begin. */
function stepMarks(view: View): Vertical[] {
  const table = view.tables["resource_steps"];
  if (table === undefined) return [];
  return table.rows.flatMap((row) => {
    const x = numberOf(table, row, "start_us");
    return x === null ? [] : [{ x, label: `Step ${textOf(table, row, "step")}` }];
  });
}
