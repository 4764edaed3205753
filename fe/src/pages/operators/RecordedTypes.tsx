/** Types of operators that a file of the recording sums, by the unit that ran them; a type opens into its operators. */
import type { Row, Table } from "../../api/types";
import { formatFilter } from "../../lib/grammar";
import { numberOf, textOf } from "../../lib/rows";
import { adjust, useParams } from "../../state/urlStore";
import { DataTable } from "../../table/DataTable";
import { isWhole } from "../../table/useRows";
import { Segmented } from "../../ui/Segmented";
import { NestedView } from "../NestedView";
import { TopChart, type Measure } from "../TopChart";
import type { ViewContext } from "../ViewFrame";

const NAME = "recorded_types";
const MEASURES: readonly Measure[] = [
  { key: "total_us", title: "Total" },
  { key: "mean_us", title: "Mean" },
  { key: "calls", title: "Calls" },
];
/** Null in a filter. */
const NULL = "-";
const KEYS = ["unit", "type"] as const;

interface Props {
  readonly context: ViewContext;
  readonly table: Table;
  /** Whether the page also shows types that are computed from events: these have its picture. */
  readonly hasOwn: boolean;
}

export function RecordedTypes({ context, table, hasOwn }: Props) {
  const { view, source, fileName } = context;
  const units = [...new Set(table.rows.map((row) => textOf(table, row, "unit")))];
  const { unit: wanted = "" } = useParams() as Record<string, string | undefined>;
  const unit = units.includes(wanted) && isWhole(table) ? wanted : "";
  const filterOf = (row: Row) => KEYS.map((key) => ({ key, operator: "=" as const, value: textOf(table, row, key) || NULL }));
  const hasSingle = table.rows.some((row) => numberOf(table, row, "operators") !== null);
  const operatorsOf = (row: Row) => (
    <NestedView
      context={context}
      view="efficiency"
      table="recorded_operators"
      title="Operators"
      groupBy=""
      filter={formatFilter([...filterOf(row), { key: "name", operator: "!=", value: NULL }])}
      owner={textOf(table, row, "type")}
      hidden={["unit", "type", "pct", "source"]}
      emptyText="The file does not list the operators of this type one by one."
    />
  );
  return (
    <>
      {!hasOwn && units.length > 1 && isWhole(table) && (
        <Segmented label="Runs on" values={["", ...units]} value={unit} onPick={(value) => adjust({ unit: value || null })} title={(value) => value || "All units"} />
      )}
      {!hasOwn && (
        <TopChart
          title="types as recorded"
          table={unit === "" ? table : ofUnit(table, unit)}
          source={source(NAME)}
          measures={MEASURES}
          label={(row) => textOf(table, row, "type")}
          kind={(row) => textOf(table, row, "unit")}
          fileName={fileName("top")}
          onPick={(row) => adjust({ [`${NAME}.filter`]: formatFilter(filterOf(row)) })}
        />
      )}
      <DataTable
        name={`operator_types.${NAME}`}
        table={table}
        source={source(NAME)}
        address={NAME}
        fileName={fileName(NAME)}
        notes={view.notes}
        rowId={(row) => KEYS.map((key) => textOf(table, row, key)).join(" ")}
        detail={hasSingle ? operatorsOf : undefined}
      />
    </>
  );
}

/** The rows of one unit: each has its own time scale, so that those of another may hide them. */
function ofUnit(table: Table, unit: string): Table {
  const rows = table.rows.filter((row) => textOf(table, row, "unit") === unit);
  return { ...table, rows, row_count: rows.length };
}
