/** Kernels: the largest, the share on Tensor Cores, the table, those that nothing recognizes; then API calls and copies. */
import type { Row, Table } from "../api/types";
import { ShareCard, type SharePart } from "../chart/ShareCard";
import { formatFilter } from "../lib/grammar";
import { cellOf, numberOf, textOf } from "../lib/rows";
import { useNameMode } from "../state/nameMode";
import { adjust } from "../state/urlStore";
import { DataTable } from "../table/DataTable";
import { Fold } from "../ui/Fold";
import { ArgumentChooser } from "./ArgumentChooser";
import { EmptySelection } from "./EmptySelection";
import { BigFacts } from "./Facts";
import { GroupBySwitch } from "./GroupBySwitch";
import { LaunchedBy } from "./kernels/LaunchedBy";
import { kernelLabel, kernelTitle } from "./kernels/kernelLabel";
import { Unrecognized, UNRECOGNIZED } from "./kernels/Unrecognized";
import { NestedView } from "./NestedView";
import { PageNotes } from "./PageNotes";
import { countText, FoldedTable, PageTable } from "./PageTable";
import { FullName } from "./RowDetail";
import { TopChart, type Measure } from "./TopChart";
import { ViewFrame, type PageProps, type ViewContext } from "./ViewFrame";

const MEASURES: readonly Measure[] = [
  { key: "total_us", title: "Total" },
  { key: "mean_us", title: "Mean" },
  { key: "calls", title: "Calls" },
];
const ROW_ID = ["name", "operator", "grid", "block", "registers_per_thread", "shared_memory_bytes"];

/** Redundant when no kernel communicates, or may. */
const HIDDEN = ["communication"];

/** Tables that a recording without kernels may have too. */
const FOLDED_TABLES = ["kernel_types", "copies"] as const;
const API_CALLS = "api_calls";

export function KernelsPage(props: PageProps) {
  const mode = useNameMode();
  return (
    <ViewFrame {...props} head={(tab) => tab?.id !== API_CALLS && <GroupBySwitch info={props.info} tab={tab} />}>
      {(context) => {
        const { view, source, fileName } = context;
        const table = view.tables["kernels"];
        if (table === undefined) return null;
        const shares = view.tables["tensor_core_time"];
        const hasKernels = view.facts.some(({ key, value }) => key === "kernel_calls" && value !== 0);
        if (context.tab === API_CALLS) return <ApiCalls context={context} />;
        const isCommunication = (row: Row) => cellOf(table, row, "communication") === true;
        return (
          <>
            <BigFacts facts={view.facts.filter(({ key, value }) => value !== 0 || key === "kernel_calls")} notes={view.notes} />
            {!hasKernels && <EmptySelection noun="kernel" />}
            {hasKernels && (
              <>
                <div className="chart-row">
                  <TopChart
                    title="kernels"
                    table={table}
                    source={source("kernels")}
                    measures={MEASURES}
                    label={(row) => kernelLabel(table, row, mode)}
                    hover={(row) => kernelTitle(table, row)}
                    kind={(row) => (isCommunication(row) ? "Communication" : "Kernel")}
                    fileName={fileName("top")}
                    onPick={(row) => adjust({ "kernels.filter": formatFilter([{ key: "name", operator: "=", value: textOf(table, row, "name") }]) })}
                  />
                  {shares !== undefined && <TensorCoreShare table={shares} fileName={fileName("tensor_cores")} />}
                </div>
                <DataTable
                  key={view.selection.group_by ?? ""}
                  name={`kernels ${view.selection.group_by ?? ""}`}
                  table={table}
                  source={source("kernels")}
                  address="kernels"
                  fileName={fileName("kernels")}
                  notes={view.notes}
                  hiddenColumns={table.rows.some((row) => cellOf(table, row, "communication") !== false) ? undefined : HIDDEN}
                  extra={<ArgumentChooser target={context.target} />}
                  rowId={(row) => ROW_ID.map((key) => textOf(table, row, key)).join(" ").trim()}
                  detail={(row) => <KernelDetail context={context} table={table} row={row} />}
                />
                <UnrecognizedFold context={context} />
              </>
            )}
            {FOLDED_TABLES.map((name) => (hasKernels ? <FoldedTable key={name} context={context} name={name} /> : <PageTable key={name} context={context} name={name} hideEmpty />))}
            <PageNotes notes={view.notes} />
          </>
        );
      }}
    </ViewFrame>
  );
}

function UnrecognizedFold({ context }: { readonly context: ViewContext }) {
  const table = context.view.tables[UNRECOGNIZED];
  if (table === undefined || table.row_count === 0) return null;
  return (
    <Fold id={UNRECOGNIZED} title={table.title} answer={countText(table)}>
      <Unrecognized context={context} />
    </Fold>
  );
}

function ApiCalls({ context }: { readonly context: ViewContext }) {
  return (
    <>
      {context.view.tables[API_CALLS]?.row_count === 0 && <EmptySelection noun="device API call" />}
      <PageTable context={context} name={API_CALLS} />
      <PageNotes notes={context.view.notes} />
    </>
  );
}

/** Filters and colours of the rows of `tensor_core_time`; "-" is for kernels that no rule classifies. */
const USES = [
  { filter: "yes", color: "--mark-strong" },
  { filter: "no", color: "--mark-weak" },
  { filter: "-", color: "--line-strong" },
] as const;

function TensorCoreShare({ table, fileName }: { readonly table: Table; readonly fileName: string }) {
  const parts = table.rows.flatMap((row, index): SharePart[] => {
    const use = USES[index];
    if (use === undefined) return [];
    const name = textOf(table, row, "use");
    const label = (
      <button type="button" className="frame-link" title="Show these kernels" onClick={() => adjust({ "kernels.filter": `tensor_core_used=${use.filter}` })}>
        {name}
      </button>
    );
    return [{ name, us: numberOf(table, row, "total_us"), pct: numberOf(table, row, "pct"), color: use.color, label }];
  });
  if (parts.every(({ us }) => us === null || us === 0)) return null;
  return <ShareCard title={table.title} help={table.help} parts={parts} nullReason={table.null_reasons["pct"] ?? ""} fileName={fileName} />;
}

interface DetailProps {
  readonly context: ViewContext;
  readonly table: Table;
  readonly row: Row;
}

function KernelDetail({ context, table, row }: DetailProps) {
  const name = textOf(table, row, "name");
  const operator = textOf(table, row, "operator");
  return (
    <>
      <FullName name={name} demangled={textOf(table, row, "demangled_name")} />
      <LaunchedBy context={context} kernel={name} operator={operator} />
      {operator === "" && (
        <NestedView
          context={context}
          view="kernels"
          table="kernels"
          title="By operator and launch"
          groupBy="name+operator+launch"
          filter={formatFilter([{ key: "name", operator: "=", value: name }])}
          hidden={["name", "cumulative_pct"]}
          owner={textOf(table, row, "short_name") || name}
          emptyText="No further details of its launches were recorded."
        />
      )}
    </>
  );
}
