/** Hang: which rank holds the others up, from the dumps of the flight recorder of all ranks. */
import { EmptySelection } from "./EmptySelection";
import { BigFacts } from "./Facts";
import { StateGridCard } from "./hang/StateGridCard";
import { PageNotes } from "./PageNotes";
import { FoldedTable, PageTable } from "./PageTable";
import { ViewFrame, type PageProps } from "./ViewFrame";

const COLLECTIVES = "hang_collectives";

export function HangPage(props: PageProps) {
  return (
    <ViewFrame {...props} longTable="hang_ranks">
      {(context) => {
        const { view } = context;
        const collectives = view.tables[COLLECTIVES];
        if (collectives === undefined) return <EmptySelection noun="dumps of the flight recorder" />;
        return (
          <>
            <BigFacts facts={view.facts} notes={view.notes} />
            {collectives.row_count > 0 && <StateGridCard table={collectives} />}
            <PageTable context={context} name="hang_ranks" hideEmpty />
            <PageTable context={context} name="hang_groups" hideEmpty />
            <PageTable context={context} name="batch_transfers" hideEmpty />
            <FoldedTable context={context} name={COLLECTIVES} />
            <FoldedTable context={context} name="hang_dumps" />
            <PageNotes notes={view.notes} />
          </>
        );
      }}
    </ViewFrame>
  );
}
