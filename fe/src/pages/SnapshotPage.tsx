/** A memory snapshot: the memory of the allocator over time and as a map, with call stacks. */
import type { Row, Table, View } from "../api/types";
import { Chart } from "../chart/Chart";
import { seriesChart } from "../chart/chartData";
import { isCurve, type ChartData, type Vertical } from "../chart/types";
import { hasColumn, textOf } from "../lib/rows";
import { adjust, useParams } from "../state/urlStore";
import { DataTable } from "../table/DataTable";
import { BigFacts, FactList } from "./Facts";
import { PageNotes } from "./PageNotes";
import { StackDetail } from "./RowDetail";
import { SnapshotAgreement } from "./SnapshotAgreement";
import { SegmentMap } from "./snapshot/SegmentMap";
import "./snapshot/snapshot.css";
import { ViewFrame, type PageProps } from "./ViewFrame";

/** Parameter of the address with the chosen moment, in trace time. */
const MOMENT = "at_us";
const ORIGIN = "origin_us";
const LEADING: ReadonlySet<string> = new Set(["reserved_bytes", "allocated_bytes", "largest_free_bytes", "oom_us"]);
/** Tables that only some snapshots fill. */
const OPTIONAL: ReadonlySet<string> = new Set(["by_owner", "by_metadata"]);
const ORDER = ["by_owner", "by_stack", "by_metadata", "alive_blocks", "segments", "blocks", "history", "devices", "settings"];

export function SnapshotPage(props: PageProps) {
  const moment = useParams()[MOMENT];
  return (
    <ViewFrame {...props} longTable="blocks" extra={{ [MOMENT]: moment }}>
      {({ view, source, fileName }) => {
        const { snapshot_curve: curve } = view.series;
        const { segments, blocks } = view.tables;
        const facts = view.facts.filter(({ key }) => key !== ORIGIN);
        const named = ORDER.flatMap((name) => {
          const table = view.tables[name];
          return table === undefined || (OPTIONAL.has(name) && table.row_count === 0) ? [] : [[name, table] as const];
        });
        return (
          <>
            <BigFacts facts={facts.filter(({ key }) => LEADING.has(key))} notes={view.notes} />
            {curve !== undefined && (
              <Chart
                title={curve.title}
                chart={marked(seriesChart(curve), view, moment)}
                fileName={fileName("snapshot_curve")}
                height={260}
                onPickX={(us) => adjust({ [MOMENT]: (originOf(view) + us).toFixed(3) })}
                extra={<span className="soft">click a moment to see what was in use</span>}
              />
            )}
            <SnapshotAgreement notes={view.notes} />
            {segments !== undefined && blocks !== undefined && segments.row_count > 0 && <SegmentMap segments={segments} blocks={blocks} />}
            {named.map(([name, table]) => (
              <DataTable
                key={name}
                name={`snapshot.${name}`}
                table={table}
                source={source(name)}
                address={name}
                fileName={fileName(name)}
                notes={view.notes}
                maxHeight="420px"
                {...(hasColumn(table, "call_stack") ? { detail: stackOf(table), rowId: idOf(table) } : {})}
              />
            ))}
            <FactList facts={facts.filter(({ key }) => !LEADING.has(key))} title="Summary" />
            <PageNotes notes={view.notes} />
          </>
        );
      }}
    </ViewFrame>
  );
}

function originOf(view: View): number {
  const value = view.facts.find(({ key }) => key === ORIGIN)?.value;
  return typeof value === "number" ? value : 0;
}

/** With vertical lines where memory ran out, and at the chosen moment. */
function marked(chart: ChartData, view: View, moment: string | undefined): ChartData {
  if (!isCurve(chart)) return chart;
  const failed = view.facts.flatMap(({ key, value }): Vertical[] => (key === "oom_us" && typeof value === "number" ? [{ x: value, label: "out of memory" }] : []));
  const chosen: Vertical[] = moment === undefined ? [] : [{ x: Number(moment) - originOf(view), label: "chosen" }];
  return { ...chart, verticals: [...failed, ...chosen].sort((a, b) => a.x - b.x) };
}

function stackOf(table: Table) {
  return function Stack(row: Row) {
    const stack = textOf(table, row, "call_stack");
    return stack === "" ? <p className="soft">The snapshot has no call stack for it.</p> : <StackDetail stack={stack} />;
  };
}

function idOf(table: Table): (row: Row) => string {
  const keys = ["segment", "offset_bytes", "address", "event", "moment", "device", "allocation_us", "call_stack"].filter((key) => hasColumn(table, key));
  return (row) => keys.map((key) => textOf(table, row, key)).join(" ");
}
