/** What any view holds, as it comes: findings, facts, charts and tables. */
import { Chart } from "../chart/Chart";
import { seriesChart } from "../chart/chartData";
import { DataTable } from "../table/DataTable";
import { FactList } from "./Facts";
import { Findings } from "./Findings";
import { QualityNotes } from "./QualityNotes";
import type { ViewContext } from "./ViewFrame";

/** A long table leaves room for those below it. */
const BESIDE_OTHERS = "480px";

export function GenericBody({ view, source, fileName }: ViewContext) {
  return (
    <>
      <Findings notes={view.notes} always={false} />
      <FactList facts={view.facts} title="Numbers" />
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
          {...(all.length > 1 ? { maxHeight: BESIDE_OTHERS } : {})}
        />
      ))}
      <QualityNotes notes={view.notes} always={false} />
    </>
  );
}
