/** Operators: the largest, the table, and inside a row its call stacks and launched kernels. */
import type { Row, Table, View } from "../api/types";
import { formatFilter } from "../lib/grammar";
import { allOfKind, hasColumn, textOf } from "../lib/rows";
import { adjust } from "../state/urlStore";
import { DataTable } from "../table/DataTable";
import { ViewLink } from "../ui/ViewLink";
import { ArgumentChooser } from "./ArgumentChooser";
import { EmptySelection } from "./EmptySelection";
import { BigFacts } from "./Facts";
import { GroupBySwitch } from "./GroupBySwitch";
import { NestedView } from "./NestedView";
import { CallStacks } from "./operators/CallStacks";
import { KernelName } from "./operators/KernelName";
import { OperatorAtPath } from "./operators/OperatorAtPath";
import { OperatorWork } from "./operators/OperatorWork";
import { operatorLabel, shortPath } from "./operators/operatorLabel";
import { PageNotes } from "./PageNotes";
import { FullName, StackDetail } from "./RowDetail";
import { TopChart, type Measure } from "./TopChart";
import { ViewFrame, type PageProps, type ViewContext } from "./ViewFrame";

const MEASURES: readonly Measure[] = [
  { key: "device_self_us", title: "Device self" },
  { key: "device_total_us", title: "Device total" },
  { key: "host_self_us", title: "Host self" },
  { key: "host_total_us", title: "Host total" },
];

export function OperatorsPage(props: PageProps) {
  return (
    <ViewFrame {...props} head={(tab) => <GroupBySwitch info={props.info} tab={tab} />}>
      {(context) => {
        const { view, source, fileName } = context;
        const table = view.tables["operators"];
        if (table === undefined) return null;
        return (
          <>
            <BigFacts facts={view.facts} notes={view.notes} />
            {table.row_count === 0 && <EmptySelection noun="operator" />}
            <TopChart
              title="operators"
              table={table}
              source={source("operators")}
              measures={measuresOf(view)}
              label={(row) => (view.selection.group_by === BY_PATH ? shortPath(textOf(table, row, "name")) : operatorLabel(table, row))}
              hover={(row) => (view.selection.group_by === BY_PATH ? textOf(table, row, "name") : operatorLabel(table, row))}
              fileName={fileName("top")}
              onPick={(row) => adjust({ "operators.filter": formatFilter([{ key: "name", operator: "=", value: textOf(table, row, "name") }]) })}
            />
            <DataTable
              key={view.selection.group_by ?? ""}
              name={`operators ${view.selection.group_by ?? ""}`}
              table={table}
              source={source("operators")}
              address="operators"
              fileName={fileName("operators")}
              notes={view.notes}
              extra={<ArgumentChooser target={context.target} />}
              rowId={(row) => ROW_ID.map((key) => textOf(table, row, key)).join(" ").trim()}
              hiddenColumns={allOfKind(table, OPERATOR) ? HIDDEN : undefined}
              detail={(row) => <RowOfAnyKind context={context} table={table} row={row} />}
            />
            <PageNotes notes={view.notes} />
          </>
        );
      }}
    </ViewFrame>
  );
}

/** Operators by path have ids, as a forward and a backward operator may share a path. */
const ROW_ID = ["name", "input_shape", "call_stack", "operator_id"];

/** Measures with values; without a GPU, those of the host. */
function measuresOf({ facts }: View): readonly Measure[] {
  const sides = ["device", "host"].filter((side) => Number(facts.find(({ key }) => key === `${side}_self_us`)?.value ?? 0) > 0);
  const filled = MEASURES.filter(({ key }) => sides.some((side) => key.startsWith(side)));
  return filled.length > 0 ? filled : MEASURES.slice(2);
}

interface DetailProps {
  readonly context: ViewContext;
  readonly table: Table;
  readonly row: Row;
}

/** The kind of an operator's row; device work without an operator has other kinds. */
const OPERATOR = "operator";
/** The grouping with a row per operator and path. */
const BY_PATH = "path";
/** Redundant when all rows are operators. */
const HIDDEN = ["kind"];

function RowOfAnyKind(props: DetailProps) {
  const { table, row } = props;
  if (!hasColumn(table, "kind") || textOf(table, row, "kind") === OPERATOR) return <OperatorDetail {...props} />;
  const stack = textOf(table, row, "call_stack");
  return (
    <>
      <FullName name={textOf(table, row, "name")} />
      {stack !== "" && <StackDetail stack={stack} />}
      <p>
        No operator launched this device work; it is among the{" "}
        <ViewLink view="kernels" params={{ group_by: "name+operator+launch", "kernels.filter": formatFilter([{ key: "operator", operator: "=", value: "-" }]) }}>
          kernels without an operator
        </ViewLink>
        .
      </p>
    </>
  );
}

function OperatorDetail({ context, table, row }: DetailProps) {
  const name = textOf(table, row, "name");
  if (context.view.selection.group_by === BY_PATH) return <OperatorAtPath context={context} operatorId={textOf(table, row, "operator_id")} path={name} />;
  const shape = hasColumn(table, "input_shape") ? textOf(table, row, "input_shape") : "";
  const stack = textOf(table, row, "call_stack");
  return (
    <>
      <FullName name={name} />
      {stack === "" ? <CallStacks context={context} name={name} shape={shape} /> : <StackDetail stack={stack} />}
      <div className="detail-columns">
        {context.hasView("kernels") && <OperatorWork context={context} params={{ operator: name }} owner={name} />}
        {context.hasView("kernels") && (
          <NestedView
            context={context}
            view="kernels"
            table="kernels"
            title="Own kernels by launch"
            groupBy="name+operator+launch"
            filter={formatFilter([{ key: "operator", operator: "=", value: name }])}
            owner={name}
            hidden={["operator", "operator_tensor_core_eligible", "communication", "cumulative_pct"]}
            emptyText={null}
            detail={(nested, nestedRow) => <KernelName table={nested} row={nestedRow} />}
          />
        )}
      </div>
    </>
  );
}
