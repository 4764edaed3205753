/** Kernels that follow each other again and again: what fusing them might save, and which they are. */
import type { Row, Table } from "../api/types";
import { textOf } from "../lib/rows";
import { visibleText } from "../lib/visibleText";
import { DataTable } from "../table/DataTable";
import { ShowOnTimeline } from "../timeline/ShowOnTimeline";
import { BigFacts } from "./Facts";
import { Findings } from "./Findings";
import { QualityNotes } from "./QualityNotes";
import { kernelsOf } from "./sequences/kernels";
import { ViewFrame, type PageProps } from "./ViewFrame";

export function SequencesPage(props: PageProps) {
  return (
    <ViewFrame {...props}>
      {({ view, source, fileName }) => {
        const { sequences } = view.tables;
        return (
          <>
            <BigFacts facts={view.facts} notes={view.notes} />
            <Findings notes={view.notes} always={false} />
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
            <QualityNotes notes={view.notes} always={false} />
          </>
        );
      }}
    </ViewFrame>
  );
}

function Kernels({ table, row }: { readonly table: Table; readonly row: Row }) {
  return (
    <ol aria-label="Kernels of the sequence, in order">
      {kernelsOf(textOf(table, row, "full_names")).map((name, place) => (
        <li key={`${name} ${place}`} className="full-name">
          {visibleText(name)} <ShowOnTimeline name={name} />
        </li>
      ))}
    </ol>
  );
}
