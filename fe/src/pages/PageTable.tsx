/** A table of a view as it stands on its page, or folded below a line with its largest row. */
import type { Table } from "../api/types";
import { formatNumber } from "../lib/format";
import { DataTable } from "../table/DataTable";
import { Fold } from "../ui/Fold";
import type { ViewContext } from "./ViewFrame";

interface Props {
  readonly context: ViewContext;
  readonly name: string;
  readonly hideEmpty?: boolean;
}

/** Height of a table with others around it. */
const SHARED_HEIGHT = "480px";

export function PageTable({ context: { view, source, fileName }, name, hideEmpty = false }: Props) {
  const table = view.tables[name];
  if (table === undefined || (hideEmpty && table.row_count === 0)) return null;
  return (
    <DataTable
      key={name}
      name={`${view.view}.${name}`}
      table={table}
      source={source(name)}
      address={name}
      fileName={fileName(name)}
      notes={view.notes}
      maxHeight={SHARED_HEIGHT}
    />
  );
}

/** Secondary on its page; nothing without rows. */
export function FoldedTable({ context, name }: Props) {
  const table = context.view.tables[name];
  if (table === undefined || table.row_count === 0) return null;
  return (
    <Fold id={name} title={table.title} answer={countText(table)}>
      <PageTable context={context} name={name} />
    </Fold>
  );
}

export function countText({ row_count: count }: Table): string {
  return `${formatNumber(count)} ${count === 1 ? "row" : "rows"}`;
}
