/** A page for any view: its content in the order of the server. */
import type { ReactNode } from "react";

import type { Row } from "../api/types";
import { Chart } from "../chart/Chart";
import { seriesChart } from "../chart/chartData";
import { DataTable } from "../table/DataTable";
import { FactList } from "./Facts";
import { Findings } from "./Findings";
import { GroupBySwitch } from "./GroupBySwitch";
import { QualityNotes } from "./QualityNotes";
import { ViewFrame, type PageProps, type ViewContext } from "./ViewFrame";

export function GenericPage(props: PageProps) {
  return (
    <ViewFrame {...props} head={<GroupBySwitch info={props.info} />}>
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
}

/** Findings, facts, charts and tables of a view. */
export function GenericBody({ view, source, fileName, details }: BodyProps) {
  return (
    <>
      <Findings notes={view.notes} always={false} />
      <FactList facts={view.facts} title="Summary" />
      {Object.entries(view.series).map(([name, series]) => (
        <Chart key={name} title={series.title} chart={seriesChart(series)} fileName={fileName(name)} height={260} />
      ))}
      {Object.entries(view.tables).map(([name, table], _, all) => (
        <DataTable
          key={`${name} ${view.selection.group_by ?? ""}`}
          name={`${view.view}.${name}`}
          table={table}
          source={source(name)}
          address={name}
          fileName={fileName(name)}
          notes={view.notes}
          {...details?.[name]}
          {...(all.length > 1 ? { maxHeight: SHARED_HEIGHT } : {})}
        />
      ))}
      <QualityNotes notes={view.notes} always={false} />
    </>
  );
}
