/** Memory over time per device, the live allocations at the peak, and who allocates. */
import type { Row, Table, View } from "../api/types";
import { Chart } from "../chart/Chart";
import { seriesChart } from "../chart/chartData";
import type { CategoryChart, ChartRange, Mark } from "../chart/types";
import { formatValue } from "../lib/format";
import { NO_TIME } from "../state/selection";
import { adjust, navigate, useParams } from "../state/urlStore";
import { DataTable } from "../table/DataTable";
import { EmptySelection } from "./EmptySelection";
import { BigFacts } from "./Facts";
import { categoryChart } from "./memory/categoryChart";
import { MomentField } from "./memory/MomentField";
import { AT_OPERATOR, Recorded } from "./memory/Recorded";
import "./memory/memory.css";
import { cellOf, textOf, topRows } from "../lib/rows";
import { Segmented } from "../ui/Segmented";
import { PageNotes } from "./PageNotes";
import { SnapshotAgreement } from "./SnapshotAgreement";
import { ViewFrame, type PageProps, type ViewContext } from "./ViewFrame";

const ORIGIN = "origin_us";
/** The tables of each tab, below its charts. */
const TABLES: Readonly<Record<string, readonly string[]>> = {
  over_time: ["memory_tensors", "memory_operators"],
  peak: ["peak_categories", "memory_peaks"],
  allocations: ["memory_stats", "held", "memory_events"],
};
const HIDDEN_FACTS: ReadonlySet<string> = new Set([
  ORIGIN,
  "alive_at_us",
  "alive_bytes",
  "snapshot_matched_pct",
  "snapshot_offset_us",
  "snapshot_max_difference_bytes",
  "snapshot_mean_difference_bytes",
]);
/** Parameter of the address with the chosen moment, in trace time. */
const MOMENT = "at_us";

export function MemoryPage(props: PageProps) {
  const { [MOMENT]: moment, [AT_OPERATOR]: operator } = useParams();
  return (
    <ViewFrame {...props} longTable="memory_events" extra={{ [MOMENT]: moment, [AT_OPERATOR]: operator }}>
      {(context) => {
        const { view, source, fileName } = context;
        // Where a tab has nothing at all its first table says so.
        const isLead = (name: string) => name === TABLES[context.tab]?.[0] && context.tab !== "over_time";
        const isOverTime = context.tab === "over_time";
        return (
          <>
            {isOverTime && <BigFacts facts={view.facts.filter(({ key, value }) => !HIDDEN_FACTS.has(key) && (value !== null || key === "peak_allocated_bytes"))} notes={view.notes} />}
            {isEmpty(view) && <EmptySelection noun="memory event" />}
            {isOverTime && (
              <>
                <Curve context={context} />
                <SnapshotAgreement notes={view.notes} />
                <ByCategory context={context} />
                <LiveAllocations context={context} />
                <Recorded context={context} />
              </>
            )}
            {context.tab === "peak" && <Composition context={context} />}
            {(TABLES[context.tab] ?? []).map((name) => {
              const table = view.tables[name];
              if (table === undefined || (table.row_count === 0 && !isLead(name))) return null;
              return (
                <DataTable
                  key={name}
                  name={`memory.${name}`}
                  table={table}
                  source={source(name)}
                  address={name}
                  fileName={fileName(name)}
                  notes={view.notes}
                  maxHeight="560px"
                />
              );
            })}
            <PageNotes notes={view.notes} />
          </>
        );
      }}
    </ViewFrame>
  );
}

function isEmpty(view: View): boolean {
  return view.series["memory_curve"] === undefined && view.tables["memory_stats"]?.row_count === 0;
}

/** Devices with a peak, in the order of the server. */
function devicesOf(view: View): string[] {
  const peaks = view.tables["memory_peaks"];
  if (peaks === undefined) return [];
  const withPeak = peaks.rows.filter((row) => cellOf(peaks, row, "peak_allocated_bytes") !== null);
  return withPeak.map((row) => textOf(peaks, row, "device"));
}

/** The device named in the address, else the first one, which is a GPU if there is one. */
function useDevice(view: View): string | undefined {
  const params = useParams();
  const devices = devicesOf(view);
  return devices.find((device) => device === params["device"]) ?? devices[0];
}

function Curve({ context }: { readonly context: ViewContext }) {
  const { view, fileName } = context;
  const device = useDevice(view);
  const series = view.series["memory_curve"];
  const peaks = view.tables["memory_peaks"];
  if (series === undefined || peaks === undefined || device === undefined) return null;
  const lines = series.lines.filter((line) => line.name.startsWith(`${device} `));
  const origin = view.facts.find((fact) => fact.key === ORIGIN)?.value;
  const select = ({ start, end }: ChartRange) => {
    const base = typeof origin === "number" ? origin : 0;
    navigate({ ...NO_TIME, start_us: (base + start).toFixed(3), end_us: (base + end).toFixed(3) });
  };
  return (
    <Chart
      title={series.title}
      chart={seriesChart({ ...series, lines }, peakMarks(peaks, device))}
      fileName={fileName("memory_curve")}
      height={300}
      onSelect={select}
      extra={<Segmented label="Device" values={devicesOf(view)} value={device} onPick={(value) => adjust({ device: value })} />}
    />
  );
}

/** The shown moment, since the start of the recording. */
function momentOf(view: View, device: string | undefined): number | null {
  const value = view.facts.find(({ key, scope }) => key === "alive_at_us" && (scope === null || scope === device))?.value;
  return typeof value === "number" ? value : null;
}

function chooseMoment(view: View, us: number | null): void {
  const origin = view.facts.find((fact) => fact.key === ORIGIN)?.value;
  const base = typeof origin === "number" ? origin : 0;
  adjust({ [MOMENT]: us === null ? null : (base + us).toFixed(3) });
}

/** Memory by category over time; a click chooses the moment whose allocations are listed. */
function ByCategory({ context }: { readonly context: ViewContext }) {
  const { view, fileName } = context;
  const device = useDevice(view);
  const isChosen = MOMENT in useParams();
  const series = view.series["memory_by_category"];
  const peaks = view.tables["memory_peaks"];
  if (series === undefined || peaks === undefined || device === undefined) return null;
  const chart = categoryChart(series, device, isChosen ? momentOf(view, device) : null, peakMarks(peaks, device));
  return (
    <Chart
      title={`${series.title} of ${device}`}
      help="Estimated from when each block was allocated and released. A click lists the live allocations at that moment."
      chart={chart}
      fileName={fileName("memory_by_category")}
      height={280}
      onPickX={(us) => chooseMoment(view, us)}
      extra={<span className="soft">est.; click a moment to see its live allocations</span>}
    />
  );
}

function LiveAllocations({ context }: { readonly context: ViewContext }) {
  const { view, source, fileName } = context;
  const device = useDevice(view);
  const isChosen = MOMENT in useParams();
  const table = view.tables["alive"];
  const us = momentOf(view, device);
  if (table === undefined || us === null || device === undefined) return null;
  const bytes = view.facts.find(({ key, scope }) => key === "alive_bytes" && scope === device)?.value;
  return (
    <DataTable
      name="memory.alive"
      table={table}
      source={source("alive")}
      address="alive"
      fileName={fileName("alive")}
      notes={view.notes}
      maxHeight="420px"
      extra={<MomentField us={us} bytes={typeof bytes === "number" ? bytes : null} isChosen={isChosen} onChoose={(value) => chooseMoment(view, value)} />}
    />
  );
}

function peakMarks(peaks: Table, device: string): Mark[] {
  return peaks.rows.flatMap((row) => {
    const x = cellOf(peaks, row, "peak_us");
    const y = cellOf(peaks, row, "peak_allocated_bytes");
    if (textOf(peaks, row, "device") !== device || typeof x !== "number" || typeof y !== "number") return [];
    return [{ x, y, label: `Peak ${formatValue(y, "bytes")}` }];
  });
}

const TOP = 10;

/** The live allocations at the peak of the device, by operator or by module. */
function Composition({ context }: { readonly context: ViewContext }) {
  const { view, fileName } = context;
  const device = useDevice(view);
  const table = view.tables["peak_composition"];
  const groupings = table === undefined ? [] : [...new Set(table.rows.map((row) => textOf(table, row, "grouping")))];
  const params = useParams();
  const grouping = groupings.find((value) => value === params["grouping"]) ?? groupings[0];
  if (table === undefined || grouping === undefined || table.row_count === 0) return null;
  const isShown = (row: Row) => textOf(table, row, "device") === device && textOf(table, row, "grouping") === grouping;
  const rows = table.rows.filter(isShown);
  const shown: Table = { ...table, rows, row_count: rows.length };
  const top = topRows(shown, "size_bytes", TOP);
  const chart: CategoryChart = {
    kind: "bar",
    horizontal: true,
    categories: top.map(({ row }) => textOf(shown, row, "name")),
    lines: [{ name: "Live allocations at the peak", values: top.map(({ value }) => value) }],
    categoryTitle: "",
    value: { title: "Live allocations at the peak", unit: "bytes" },
  };
  return (
    <div className="chart-row even" data-table="peak_composition">
      <Chart
        title={`Live allocations at the peak of ${device ?? ""}`}
        help={table.help}
        chart={chart}
        fileName={fileName("peak")}
        height={48 + 22 * Math.max(1, top.length)}
        extra={<Segmented label="By" values={groupings} value={grouping} onPick={(value) => adjust({ grouping: value === groupings[0] ? null : value })} title={(value) => `By ${value}`} />}
      />
      <DataTable
        key={`${device ?? ""} ${grouping}`}
        name="memory.peak_composition"
        table={shown}
        source={null}
        fileName={fileName("peak_composition")}
        hiddenColumns={["device", "grouping"]}
        maxHeight="260px"
      />
    </div>
  );
}
