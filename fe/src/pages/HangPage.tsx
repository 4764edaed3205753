/** Hang: which rank holds the others up, from the dumps of the flight recorder of all ranks. */
import type { Table } from "../api/types";
import { textOf } from "../lib/rows";
import { EmptySelection } from "./EmptySelection";
import { BigFacts } from "./Facts";
import { StateGridCard } from "./hang/StateGridCard";
import { PageNotes } from "./PageNotes";
import { FoldedTable, PageTable } from "./PageTable";
import { ViewFrame, type PageProps } from "./ViewFrame";

const COLLECTIVES = "hang_collectives";
const TRANSFERS = "batch_transfers";

export function HangPage(props: PageProps) {
  return (
    <ViewFrame {...props} longTable="hang_ranks">
      {(context) => {
        const { view } = context;
        const collectives = view.tables[COLLECTIVES];
        if (collectives === undefined) return <EmptySelection noun="dumps of the flight recorder" />;
        const transfers = <PageTable context={context} name={TRANSFERS} hideEmpty />;
        const isOfTransfers = cannotEnd(view.tables[TRANSFERS]);
        return (
          <>
            <BigFacts facts={view.facts} notes={view.notes} />
            <PageTable context={context} name="hangs" hideEmpty />
            {isOfTransfers && transfers}
            {collectives.row_count > 0 && <StateGridCard table={collectives} />}
            <PageTable context={context} name="hang_ranks" hideEmpty />
            {!isOfTransfers && transfers}
            <FoldedTable context={context} name="hang_groups" />
            <FoldedTable context={context} name={COLLECTIVES} />
            <FoldedTable context={context} name="hang_dumps" />
            <PageNotes notes={view.notes} />
          </>
        );
      }}
    </ViewFrame>
  );
}

/** Whether a transfer has no counterpart that fits, or another one: it then explains collectives that wait. */
function cannotEnd(transfers: Table | undefined): boolean {
  return transfers?.rows[0] !== undefined && textOf(transfers, transfers.rows[0], "problem") !== "";
}
