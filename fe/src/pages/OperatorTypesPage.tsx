/** Operator types and their shares; a type opens into its operators, and these into their kernels. */
import type { Table } from "../api/types";
import { formatFilter } from "../lib/grammar";
import { textOf } from "../lib/rows";
import { adjust, useParams } from "../state/urlStore";
import { DataTable } from "../table/DataTable";
import { Segmented } from "../ui/Segmented";
import { ViewLink } from "../ui/ViewLink";
import { EmptySelection } from "./EmptySelection";
import { BigFacts } from "./Facts";
import { NestedView } from "./NestedView";
import { OperatorAtPath } from "./operators/OperatorAtPath";
import { RecordedTypes } from "./operators/RecordedTypes";
import { chosenTimes, DEFAULT_TIMES, timesOf, timesTitle, withTimes } from "./operators/timesShown";
import { PageNotes } from "./PageNotes";
import { TopChart, type Measure } from "./TopChart";
import { ViewFrame, type PageProps, type ViewContext } from "./ViewFrame";

/** Times a chart can have beside the share. */
const MEASURES = ["gpu", "gpu_idle", "cpu", "cpu_overhead"];
const UNASSOCIATED = "unassociated_";
/** The label of a row without a type. */
const UNKNOWN = "unknown type";
/** Null in a filter. */
const NULL = "-";

export function OperatorTypesPage(props: PageProps) {
  return (
    <ViewFrame {...props}>
      {(context) => {
        const { view } = context;
        const { operator_types: computed, recorded_types: recorded } = view.tables;
        return (
          <>
            <BigFacts facts={view.facts} notes={view.notes} />
            {computed !== undefined && <ComputedTypes context={context} table={computed} />}
            {recorded !== undefined && <RecordedTypes context={context} table={recorded} hasOwn={computed !== undefined} />}
            <PageNotes notes={view.notes} />
          </>
        );
      }}
    </ViewFrame>
  );
}

function ComputedTypes({ context, table }: { readonly context: ViewContext; readonly table: Table }) {
  const { view, source, fileName } = context;
  const times = chosenTimes(useParams()["times"]);
  return (
    <>
      {table.row_count === 0 && <EmptySelection noun="operator" />}
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
        table={withTimes(table, times)}
        source={source("operator_types")}
        address="operator_types"
        fileName={fileName("operator_types")}
        notes={view.notes}
        rowId={(row) => textOf(table, row, "type") || UNKNOWN}
        extra={<Segmented label="Times" values={timesOf(table)} value={times} onPick={(value) => adjust({ times: value === DEFAULT_TIMES ? null : value })} title={(each) => timesTitle(each, table)} />}
        detail={(row) => <TypeDetail context={context} type={textOf(table, row, "type")} />}
      />
    </>
  );
}

/** Measures with values. */
function measuresOf(table: Table): readonly Measure[] {
  const filled = ({ key }: Measure) => table.columns.some((column, index) => column.key === key && table.rows.some((row) => Number(row[index] ?? 0) > 0));
  const times = MEASURES.map((measure) => ({ key: `${measure}_total_us`, title: timesTitle(measure, table) }));
  return [{ key: "pct", title: "Share" }, ...times].filter(filled);
}

interface DetailProps {
  readonly context: ViewContext;
  /** Empty for operators of unknown type. */
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
          Show them among all operators
        </ViewLink>
      </p>
      <NestedView
        context={context}
        view="operators"
        table="operators"
        title="Operators by path"
        groupBy="path"
        filter={filter}
        owner={type || UNKNOWN}
        hidden={["input_shape", "call_stack", "kind", "type", "host_python_us", "cumulative_pct"]}
        emptyText="No operator of this type in this selection."
        detail={(nested, row) => <OperatorAtPath context={context} operatorId={textOf(nested, row, "operator_id")} path={textOf(nested, row, "name")} />}
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
