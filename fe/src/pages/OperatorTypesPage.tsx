/** Operator types: what share each has; a type opens into its operators, and these into their kernels. */
import type { Table } from "../api/types";
import { formatFilter } from "../lib/grammar";
import { textOf } from "../lib/rows";
import { adjust } from "../state/urlStore";
import { DataTable } from "../table/DataTable";
import { ViewLink } from "../ui/ViewLink";
import { EmptySelection } from "./EmptySelection";
import { BigFacts } from "./Facts";
import { Findings } from "./Findings";
import { NestedView } from "./NestedView";
import { OperatorAtItsPlace } from "./OperatorAtItsPlace";
import { QualityNotes } from "./QualityNotes";
import { TopChart, type Measure } from "./TopChart";
import { ViewFrame, type PageProps, type ViewContext } from "./ViewFrame";

const MEASURES: readonly Measure[] = [
  { key: "pct", title: "Share" },
  { key: "gpu_total_us", title: "GPU" },
  { key: "gpu_idle_total_us", title: "GPU idle" },
  { key: "cpu_total_us", title: "CPU" },
  { key: "cpu_overhead_total_us", title: "CPU overhead" },
];
const UNASSOCIATED = "unassociated_";
/** What a row without a type is called. */
const UNKNOWN = "type not known";
/** How a filter writes a value that is null. */
const NULL = "-";

export function OperatorTypesPage(props: PageProps) {
  return (
    <ViewFrame {...props}>
      {(context) => {
        const { view, source, fileName } = context;
        const table = view.tables["operator_types"];
        if (table === undefined) return null;
        return (
          <>
            <BigFacts facts={view.facts} notes={view.notes} />
            <Findings notes={view.notes} always={false} />
            {table.row_count === 0 && <EmptySelection what="operator" />}
            <TopChart
              title="types"
              table={table}
              source={source("operator_types")}
              measures={measuresOf(table)}
              label={(row) => textOf(table, row, "type") || UNKNOWN}
              fileName={fileName("top")}
              onPick={(row) => adjust({ "operator_types.filter": formatFilter([{ key: "type", operator: "=", value: textOf(table, row, "type") || NULL }]) })}
            />
            <DataTable
              name="operator_types"
              table={table}
              source={source("operator_types")}
              address="operator_types"
              fileName={fileName("operator_types")}
              notes={view.notes}
              rowId={(row) => textOf(table, row, "type") || UNKNOWN}
              detail={(row) => <TypeDetail context={context} type={textOf(table, row, "type")} />}
            />
            <QualityNotes notes={view.notes} always={false} />
          </>
        );
      }}
    </ViewFrame>
  );
}

/** Measures with something in them. */
function measuresOf(table: Table): readonly Measure[] {
  const filled = ({ key }: Measure) => table.columns.some((column, place) => column.key === key && table.rows.some((row) => Number(row[place] ?? 0) > 0));
  return MEASURES.filter(filled);
}

interface DetailProps {
  readonly context: ViewContext;
  /** Empty for operators whose type nobody knows. */
  readonly type: string;
}

function TypeDetail({ context, type }: DetailProps) {
  if (type.startsWith(UNASSOCIATED)) return <OutsideDetail />;
  const filter = formatFilter([
    { key: "type", operator: "=", value: type || NULL },
    { key: "kind", operator: "=", value: "operator" },
  ]);
  return (
    <>
      <p>
        <ViewLink view="operators" params={{ group_by: "path", "operators.filter": filter }}>
          These operators among all
        </ViewLink>
      </p>
      <NestedView
        context={context}
        view="operators"
        table="operators"
        title="Operators at their places"
        groupBy="path"
        filter={filter}
        of={type || UNKNOWN}
        hidden={["input_shape", "call_stack", "kind", "type", "host_python_us", "cumulative_pct"]}
        none="None is in this selection."
        detail={(nested, row) => <OperatorAtItsPlace context={context} operatorId={textOf(nested, row, "operator_id")} path={textOf(nested, row, "name")} />}
      />
    </>
  );
}

function OutsideDetail() {
  return (
    <p>
      No operator launched this device work; it is among the{" "}
      <ViewLink view="kernels" params={{ group_by: "name+operator+launch", "kernels.filter": formatFilter([{ key: "operator", operator: "=", value: NULL }]) }}>
        kernels without an operator
      </ViewLink>
      .
    </p>
  );
}
