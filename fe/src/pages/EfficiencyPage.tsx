/** What files of a recording tell of FLOPs and peaks, and of sums of operators. */
import { DataTable } from "../table/DataTable";
import { BigFacts } from "./Facts";
import { Findings } from "./Findings";
import { QualityNotes } from "./QualityNotes";
import { ViewFrame, type PageProps } from "./ViewFrame";

export function EfficiencyPage(props: PageProps) {
  return (
    <ViewFrame {...props} longTable={null}>
      {({ view, source, fileName }) => {
        const told = view.facts.filter((fact) => fact.value !== null);
        const tables = Object.entries(view.tables).filter(([, table]) => table.row_count > 0);
        return (
          <>
            <BigFacts facts={told} notes={view.notes} />
            <Findings notes={view.notes} always={false} />
            {tables.map(([name, table]) => (
              <DataTable key={name} name={`efficiency.${name}`} table={table} source={source(name)} address={name} fileName={fileName(name)} notes={view.notes} maxHeight="560px" />
            ))}
            <QualityNotes notes={view.notes} always={false} />
          </>
        );
      }}
    </ViewFrame>
  );
}
