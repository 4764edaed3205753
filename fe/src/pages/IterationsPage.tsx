/** The iterations: which are selected, how they vary, and the operators and kernels of one of them. */
import { useState } from "react";

import { shortenMiddle } from "../lib/shorten";
import { visibleText } from "../lib/visibleText";
import { iterationsByText } from "../state/iterationsBy";
import { navigate, useParams } from "../state/urlStore";
import { DataTable } from "../table/DataTable";
import { EmptySelection } from "./EmptySelection";
import { BigFacts } from "./Facts";
import { Findings } from "./Findings";
import { badges } from "./iterations/badges";
import { ChosenTables } from "./iterations/ChosenTables";
import { IterationChart } from "./iterations/IterationChart";
import { SPLIT_NOTES, SplitNotes, STEADY_RANGE, SteadyRange } from "./iterations/IterationNotes";
import { SavedSelections } from "./iterations/SavedSelections";
import { KeyNodeDialog } from "./iterationsBy/KeyNodeDialog";
import "./iterations/iterations.css";
import { textOf } from "../lib/rows";
import { QualityNotes } from "./QualityNotes";
import { ViewFrame, type PageProps } from "./ViewFrame";

const TABLE = "iterations";
/** All bars are loaded at once; more iterations than this are unlikely. */
const MAX_BARS = 100_000;
const ONLY = { only: TABLE } as const;
const MAX_CHARACTERS = 40;
/** Notes that are shown above the chart. */
const SHOWN_ABOVE: readonly string[] = [STEADY_RANGE, ...SPLIT_NOTES];

export function IterationsPage(props: PageProps) {
  const { iteration } = useParams() as Record<string, string | undefined>;
  return (
    <ViewFrame {...props} longTable={TABLE} rows={MAX_BARS} extra={ONLY} head={<IterationsButton {...props} />}>
      {(context) => {
        const { view, source, fileName } = context;
        const table = view.tables[TABLE];
        if (table === undefined) return null;
        const isEmpty = table.row_count === 0;
        return (
          <>
            <BigFacts shown={badges(view.facts)} notes={view.notes} />
            <Findings notes={view.notes} always={false} />
            <SplitNotes notes={view.notes} />
            {isEmpty && <EmptySelection noun="iteration" />}
            <SteadyRange notes={view.notes} />
            {!isEmpty && <IterationChart table={table} fileName={fileName("bars")} />}
            <SavedSelections />
            {!isEmpty && (
              <DataTable
                name="iterations.iterations"
                table={table}
                source={source(TABLE)}
                address={TABLE}
                fileName={fileName(TABLE)}
                notes={view.notes}
                rowId={(row) => textOf(table, row, "iteration")}
                choice={{
                  id: iteration ?? null,
                  onChoose: (row) => {
                    const name = textOf(table, row, "iteration");
                    navigate({ iteration: name === iteration ? null : name, operator_id: null });
                  },
                }}
                maxHeight="360px"
              />
            )}
            {!isEmpty && <ChosenTables context={context} />}
            <QualityNotes notes={view.notes.filter(({ code }) => !SHOWN_ABOVE.includes(code))} always={false} />
          </>
        );
      }}
    </ViewFrame>
  );
}

function IterationsButton({ target }: PageProps) {
  const [isOpen, setOpen] = useState(false);
  const by = iterationsByText(useParams()["iterations_by"]);
  return (
    <>
      <button type="button" className="button" aria-haspopup="dialog" title={by === null ? "Iterations are the steps of the trace" : visibleText(by)} onClick={() => setOpen(true)}>
        {by === null ? "Iterations by step" : shortenMiddle(visibleText(by), MAX_CHARACTERS)} ▾
      </button>
      <KeyNodeDialog target={target} open={isOpen} onClose={() => setOpen(false)} />
    </>
  );
}
