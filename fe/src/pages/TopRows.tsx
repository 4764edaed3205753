/** The rows with the most time of another view, with links to it. */
import type { Row, Table } from "../api/types";
import { formatFilter } from "../lib/grammar";
import { textOf } from "../lib/rows";
import { DataTable } from "../table/DataTable";
import { ViewLink } from "../ui/ViewLink";
import { FullName } from "./RowDetail";
import type { ViewContext } from "./ViewFrame";

interface Props {
  readonly context: ViewContext;
  /** The table of the shown view with these rows. */
  readonly name: string;
  /** The view with all rows, which is also the name of its table. */
  readonly view: string;
}

export function TopRows({ context, name, view }: Props) {
  const table = context.view.tables[name];
  if (table === undefined || table.row_count === 0) return null;
  return (
    <DataTable
      name={`${context.info.name}.${name}`}
      table={table}
      source={context.source(name)}
      address={name}
      fileName={context.fileName(name)}
      notes={context.view.notes}
      extra={<ViewLink view={view}>Show all</ViewLink>}
      rowId={(row) => textOf(table, row, "name")}
      detail={(row) => <TopRow table={table} row={row} view={view} />}
    />
  );
}

function TopRow({ table, row, view }: { readonly table: Table; readonly row: Row; readonly view: string }) {
  const name = textOf(table, row, "name");
  return (
    <>
      <FullName name={name} />
      <p>
        <ViewLink view={view} params={{ [`${view}.filter`]: formatFilter([{ key: "name", operator: "=", value: name }]) }}>
          Show in {view}
        </ViewLink>
      </p>
    </>
  );
}
