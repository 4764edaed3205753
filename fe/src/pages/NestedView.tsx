/** A table of another view inside an open row, filtered to that row. */
import type { ReactNode } from "react";

import type { Query } from "../api/client";
import { useView } from "../api/hooks";
import type { Row, Table } from "../api/types";
import { DataTable } from "../table/DataTable";
import { PAGE_ROWS } from "../table/useRows";
import type { ViewContext } from "./ViewFrame";

interface Props {
  readonly context: ViewContext;
  readonly view: string;
  readonly table: string;
  readonly title: string;
  readonly groupBy: string;
  readonly filter: string;
  /** Further parameters of the request. */
  readonly params?: Query;
  readonly hidden: readonly string[];
  /** Name of the open row, for the names of exported files. */
  readonly owner: string;
  /** The text when there are no rows; null to show nothing then. */
  readonly emptyText: string | null;
  readonly detail?: (table: Table, row: Row) => ReactNode;
}

/** Length of the row's name in a file name. */
const MAX_CHARACTERS = 60;

export function NestedView(props: Props) {
  const { context, view, title, detail } = props;
  const query = { ...context.query, group_by: props.groupBy, ...props.params };
  const answer = useView(view, { ...query, table: props.table, filter: props.filter, limit: PAGE_ROWS });
  if (answer.state === "failed") return <p className="soft">{`${title}: ${answer.failure.message}`}</p>;
  const table = answer.state === "ready" ? answer.data.tables[props.table] : undefined;
  if (table === undefined) return props.emptyText === null ? null : <p className="soft">{title} …</p>;
  if (table.rows.length === 0) return props.emptyText === null ? null : <p className="soft">{`${title}: ${props.emptyText}`}</p>;
  return (
    <DataTable
      name={`nested ${view} ${props.groupBy}`}
      table={table}
      source={{ view, table: props.table, query, filter: props.filter }}
      title={title}
      fileName={context.fileName(`${title} of ${props.owner.slice(0, MAX_CHARACTERS)}`)}
      hiddenColumns={props.hidden}
      maxHeight="320px"
      detail={detail === undefined ? undefined : (row) => detail(table, row)}
    />
  );
}
