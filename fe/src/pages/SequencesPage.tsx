/** Repeated sequences of kernels, and what fusing them might save. */
import type { Row, Table } from "../api/types";
import { textOf } from "../lib/rows";
import { visibleText } from "../lib/visibleText";
import { DataTable } from "../table/DataTable";
import { ShowOnTimeline } from "../timeline/ShowOnTimeline";
import { BigFacts } from "./Facts";
import { PageNotes } from "./PageNotes";
import { ViewFrame, type PageProps } from "./ViewFrame";

export function SequencesPage(props: PageProps) {
  return (
    <ViewFrame {...props}>
      {({ view, source, fileName }) => {
        const { sequences } = view.tables;
        return (
          <>
            <BigFacts facts={view.facts} notes={view.notes} />
            {sequences !== undefined && (
              <DataTable
                name="sequences.sequences"
                table={sequences}
                source={source("sequences")}
                address="sequences"
                fileName={fileName("sequences")}
                notes={view.notes}
                rowId={(row) => textOf(sequences, row, "full_names")}
                detail={(row) => <Kernels table={sequences} row={row} />}
              />
            )}
            <PageNotes notes={view.notes} />
          </>
        );
      }}
    </ViewFrame>
  );
}

function Kernels({ table, row }: { readonly table: Table; readonly row: Row }) {
  return (
    <ol aria-label="Kernels of the sequence, in order">
      {kernelsOf(textOf(table, row, "full_names")).map((name, index) => (
        <li key={`${name} ${index}`} className="full-name">
          {visibleText(name)} <ShowOnTimeline name={name} />
        </li>
      ))}
    </ol>
  );
}

const ARROW = " → ";

/** Splits the text of a sequence into its kernels. */
export function kernelsOf(fullNames: string): string[] {
  return fullNames.split(ARROW).filter((name) => name !== "");
}
