/** A page for any view: its content in the order of the server. */
import type { ReactNode } from "react";

import type { Row } from "../api/types";
import { Chart } from "../chart/Chart";
import { seriesChart } from "../chart/chartData";
import { DataTable } from "../table/DataTable";
import { FactList } from "./Facts";
import { GroupBySwitch } from "./GroupBySwitch";
import { PageNotes } from "./PageNotes";
import { FoldedTable } from "./PageTable";
import { ViewFrame, type PageProps, type ViewContext } from "./ViewFrame";

export function GenericPage(props: PageProps) {
  return (
    <ViewFrame {...props} head={(tab) => <GroupBySwitch info={props.info} tab={tab} />}>
      {(context) => <GenericBody {...context} />}
    </ViewFrame>
  );
}

/** Height of a table with others below it. */
const SHARED_HEIGHT = "480px";

/** What opens inside the rows of a table. */
export interface RowDetails {
  readonly rowId: (row: Row) => string;
  readonly detail: (row: Row) => ReactNode;
}

interface BodyProps extends ViewContext {
  /** By the name of the table; rows of others do not open. */
  readonly details?: Readonly<Record<string, RowDetails>>;
  /** Tables that are long and secondary. */
  readonly folded?: readonly string[];
}

/** Charts, tables, facts and notes of a view. */
export function GenericBody({ details, folded = [], ...context }: BodyProps) {
  const { view, source, fileName } = context;
  const tables = Object.entries(view.tables).filter(([name]) => !folded.includes(name));
  return (
    <>
      {Object.entries(view.series).map(([name, series]) => (
        <Chart key={name} title={series.title} chart={seriesChart(series)} fileName={fileName(name)} height={260} />
      ))}
      {tables.map(([name, table]) => (
        <DataTable
          key={`${name} ${view.selection.group_by ?? ""}`}
          name={`${view.view}.${name}`}
          table={table}
          source={source(name)}
          address={name}
          fileName={fileName(name)}
          notes={view.notes}
          {...details?.[name]}
          {...(tables.length > 1 ? { maxHeight: SHARED_HEIGHT } : {})}
        />
      ))}
      {folded.map((name) => (
        <FoldedTable key={name} context={context} name={name} />
      ))}
      <FactList facts={view.facts} title="Summary" />
      <PageNotes notes={view.notes} />
    </>
  );
}
