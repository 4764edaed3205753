/** Copies: what they cost, how near to the limit of their links they come, by kind and by size. */
import { Chart } from "../chart/Chart";
import { DataTable } from "../table/DataTable";
import { rateChart } from "./copies/rate";
import { BigFacts } from "./Facts";
import { Findings } from "./Findings";
import { QualityNotes } from "./QualityNotes";
import { ViewFrame, type PageProps } from "./ViewFrame";

const TABLES = ["copies_by_kind", "copy_sizes"] as const;

export function CopiesPage(props: PageProps) {
  return (
    <ViewFrame {...props}>
      {({ view, source, fileName }) => {
        const { rate } = view.series;
        return (
          <>
            <BigFacts facts={view.facts} notes={view.notes} />
            <Findings notes={view.notes} always={false} />
            {rate !== undefined && rate.lines.length > 0 && (
              <Chart
                title={rate.title}
                help="Bytes copied per time. Dashed: what the link carries in one direction at most, by its vendor."
                chart={rateChart(rate, view.tables["copies_by_kind"])}
                fileName={fileName("rate")}
                height={280}
              />
            )}
            {TABLES.map((name) => {
              const table = view.tables[name];
              if (table === undefined) return null;
              return <DataTable key={name} name={`copies.${name}`} table={table} source={source(name)} address={name} fileName={fileName(name)} notes={view.notes} maxHeight="480px" />;
            })}
            <QualityNotes notes={view.notes} always={false} />
          </>
        );
      }}
    </ViewFrame>
  );
}
