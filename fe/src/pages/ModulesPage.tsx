/** The module tree, as a flame graph and as a table. */
import { allOfKind } from "../lib/rows";
import { DataTable } from "../table/DataTable";
import { EmptySelection } from "./EmptySelection";
import { BigFacts } from "./Facts";
import { FlameGraph } from "./FlameGraph";
import { PageNotes } from "./PageNotes";
import { ViewFrame, type PageProps } from "./ViewFrame";

/** Redundant when all rows are modules. */
const HIDDEN = ["kind"];

export function ModulesPage(props: PageProps) {
  return (
    // A tree needs all ancestors of its rows.
    <ViewFrame {...props} longTable={null}>
      {({ view, source, fileName }) => (
        <>
          {view.facts.some(({ value }) => value !== null) && <BigFacts facts={view.facts} notes={view.notes} />}
          {view.tables["modules"]?.row_count === 0 && <EmptySelection noun="module call" />}
          {view.tables["module_flame"] !== undefined && <FlameGraph table={view.tables["module_flame"]} fileName={fileName("flame")} />}
          {Object.entries(view.tables).map(([name, table]) => {
            if (name === "module_flame") return null;
            return (
              <DataTable
                key={name}
                name={`modules.${name}`}
                table={table}
                source={source(name)}
                address={name}
                fileName={fileName(name)}
                notes={view.notes}
                hiddenColumns={allOfKind(table, "module") ? HIDDEN : undefined}
              />
            );
          })}
          <PageNotes notes={view.notes} />
        </>
      )}
    </ViewFrame>
  );
}
