/** Copies: their cost and bandwidth compared with the limit of their links, by kind and by size. */
import { Chart } from "../chart/Chart";
import { DataTable } from "../table/DataTable";
import { rateChart } from "./copies/rateChart";
import { BigFacts } from "./Facts";
import { PageNotes } from "./PageNotes";
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
            {rate !== undefined && rate.lines.length > 0 && (
              <Chart
                title={rate.title}
                help="Bandwidth of copies. Dashed: the limit of the link in one direction, according to its vendor."
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
            <PageNotes notes={view.notes} />
          </>
        );
      }}
    </ViewFrame>
  );
}
