/** The iterations: which of them are looked at, how they vary, and what is inside one of them. */
import { useState } from "react";

import { shortenMiddle } from "../lib/shorten";
import { visibleText } from "../lib/visibleText";
import { cutText } from "../state/iterationsBy";
import { navigate, useParams } from "../state/urlStore";
import { DataTable } from "../table/DataTable";
import { EmptySelection } from "./EmptySelection";
import { BigFacts } from "./Facts";
import { Findings } from "./Findings";
import { Aggregations } from "./iterations/Aggregations";
import { badges } from "./iterations/badges";
import { ChosenTables } from "./iterations/ChosenTables";
import { CUT_NOTES, HowCut } from "./iterations/HowCut";
import { IterationChart } from "./iterations/IterationChart";
import { STEADY_RANGE, SteadyRange } from "./iterations/SteadyRange";
import { KeyNodeDialog } from "./iterationsBy/KeyNodeDialog";
import "./iterations/iterations.css";
import { textOf } from "../lib/rows";
import { QualityNotes } from "./QualityNotes";
import { ViewFrame, type PageProps } from "./ViewFrame";

const TABLE = "iterations";
/** Bars come whole: of what is called more often nobody thinks as an iteration. */
const MOST_BARS = 100_000;
const ONLY = { only: TABLE } as const;
const CUT_CHARACTERS = 40;
/** What stands above is not said again. */
const SAID: readonly string[] = [STEADY_RANGE, ...CUT_NOTES];

export function IterationsPage(props: PageProps) {
  const { iteration } = useParams() as Record<string, string | undefined>;
  return (
    <ViewFrame {...props} longTable={TABLE} rows={MOST_BARS} extra={ONLY} head={<CutButton {...props} />}>
      {(context) => {
        const { view, source, fileName } = context;
        const table = view.tables[TABLE];
        if (table === undefined) return null;
        const isEmpty = table.row_count === 0;
        return (
          <>
            <BigFacts shown={badges(view.facts)} notes={view.notes} />
            <Findings notes={view.notes} always={false} />
            <HowCut notes={view.notes} />
            {isEmpty && <EmptySelection what="iteration" />}
            <SteadyRange notes={view.notes} />
            {!isEmpty && <IterationChart table={table} fileName={fileName("bars")} />}
            <Aggregations />
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
            <QualityNotes notes={view.notes.filter(({ code }) => !SAID.includes(code))} always={false} />
          </>
        );
      }}
    </ViewFrame>
  );
}

function CutButton({ target }: PageProps) {
  const [isOpen, setOpen] = useState(false);
  const by = cutText(useParams()["iterations_by"]);
  return (
    <>
      <button type="button" className="button" aria-haspopup="dialog" title={by === null ? "Iterations are the steps of the trace" : visibleText(by)} onClick={() => setOpen(true)}>
        {by === null ? "Iterations by step" : shortenMiddle(visibleText(by), CUT_CHARACTERS)} ▾
      </button>
      <KeyNodeDialog target={target} open={isOpen} onClose={() => setOpen(false)} />
    </>
  );
}
