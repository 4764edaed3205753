/** Kernels: the largest, how much runs on tensor cores, the table. */
import type { Row, Table } from "../api/types";
import { ShareCard, type SharePart } from "../chart/ShareCard";
import { formatFilter } from "../lib/grammar";
import { adjust, goToView, useParams, viewHref } from "../state/urlStore";
import { DataTable } from "../table/DataTable";
import { EmptySelection } from "./EmptySelection";
import { BigFacts } from "./Facts";
import { GroupBySwitch } from "./GroupBySwitch";
import { NestedView } from "./NestedView";
import { Findings } from "./Findings";
import { QualityNotes } from "./QualityNotes";
import { kernelKind, kernelLabel } from "./kernelLabel";
import { FullName } from "./RowDetail";
import { cellOf, hasColumn, textOf } from "./rows";
import { TopChart, type Measure } from "./TopChart";
import { ViewFrame, type PageProps, type ViewContext } from "./ViewFrame";

const MEASURES: readonly Measure[] = [
  { key: "total_us", title: "Total" },
  { key: "mean_us", title: "Mean" },
  { key: "calls", title: "Calls" },
];
const ROW_ID = ["name", "operator", "grid", "block", "registers_per_thread", "shared_memory_bytes"];

export function KernelsPage(props: PageProps) {
  return (
    <ViewFrame {...props} head={<GroupBySwitch info={props.info} />}>
      {(context) => {
        const { view, source, fileName } = context;
        const table = view.tables["kernels"];
        if (table === undefined) return null;
        const kind = (row: Row) => kernelKind(textOf(table, row, "name"));
        return (
          <>
            <BigFacts facts={view.facts} notes={view.notes} />
            <Findings notes={view.notes} always={false} />
            {table.row_count === 0 && <EmptySelection what="kernel" />}
            <div className="chart-row">
              <TopChart
                title="kernels"
                table={table}
                measures={MEASURES}
                label={(row) => kernelLabel(table, row)}
                kind={table.rows.some((row) => kind(row) === "Communication") ? kind : undefined}
                fileName={fileName("top")}
                onPick={(row) => adjust({ "kernels.filter": formatFilter([{ key: "name", operator: "=", value: textOf(table, row, "name") }]) })}
              />
              <TensorCoreShare table={table} fileName={fileName("tensor_cores")} />
            </div>
            <DataTable
              key={view.selection.group_by ?? ""}
              name={`kernels ${view.selection.group_by ?? ""}`}
              table={table}
              source={source("kernels")}
              address="kernels"
              fileName={fileName("kernels")}
              notes={view.notes}
              rowId={(row) => ROW_ID.map((key) => textOf(table, row, key)).join(" ").trim()}
              detail={(row) => <KernelDetail context={context} table={table} row={row} />}
            />
            <QualityNotes notes={view.notes} always={false} />
          </>
        );
      }}
    </ViewFrame>
  );
}

interface Share {
  readonly name: string;
  readonly filter: string;
  readonly color: string;
  readonly total: number;
}

/** Kernel time by whether the kernel used tensor cores; a kernel no rule knows is neither yes nor no. */
export function tensorCoreShares(table: Table): Share[] {
  const parts = [
    { name: "Tensor cores used", filter: "yes", color: "--mark-strong", value: true },
    { name: "Not used", filter: "no", color: "--mark-weak", value: false },
    { name: "Not known", filter: "-", color: "--line-strong", value: null },
  ];
  return parts.map(({ value, ...part }) => ({
    ...part,
    total: table.rows.reduce((sum, row) => {
      const time = cellOf(table, row, "total_us");
      return cellOf(table, row, "tensor_core_used") === value && typeof time === "number" ? sum + time : sum;
    }, 0),
  }));
}

function TensorCoreShare({ table, fileName }: { readonly table: Table; readonly fileName: string }) {
  const shares = tensorCoreShares(table);
  const sum = shares.reduce((total, share) => total + share.total, 0);
  if (!hasColumn(table, "tensor_core_used") || sum === 0) return null;
  const parts = shares.map(({ name, total, color, filter }): SharePart => ({
    name,
    us: total,
    pct: (100 * total) / sum,
    color,
    label: (
      <button type="button" className="frame-link" title="Show these kernels" onClick={() => adjust({ "kernels.filter": `tensor_core_used=${filter}` })}>
        {name}
      </button>
    ),
  }));
  return (
    <ShareCard
      title="Tensor core share of kernel time"
      help="Kernel time by whether the kernel used tensor cores, over the rows of the table below"
      parts={parts}
      nullReason=""
      fileName={fileName}
    />
  );
}

interface DetailProps {
  readonly context: ViewContext;
  readonly table: Table;
  readonly row: Row;
}

function KernelDetail({ context, table, row }: DetailProps) {
  const params = useParams();
  const name = textOf(table, row, "name");
  const operator = textOf(table, row, "operator");
  const link = { "operators.filter": formatFilter([{ key: "name", operator: "=", value: operator }]) };
  return (
    <>
      <FullName name={name} />
      {operator !== "" && (
        <p>
          Launched by{" "}
          <a
            href={viewHref(params, "operators", link)}
            onClick={(event) => {
              if (event.ctrlKey || event.metaKey || event.shiftKey) return;
              event.preventDefault();
              goToView("operators", link);
            }}
          >
            {operator}
          </a>
        </p>
      )}
      {operator === "" && (
        <NestedView
          context={context}
          view="kernels"
          table="kernels"
          title="By operator and launch"
          groupBy="name+operator+launch"
          filter={formatFilter([{ key: "name", operator: "=", value: name }])}
          hidden={["name"]}
          none="Nothing more is known of its launches."
        />
      )}
    </>
  );
}
