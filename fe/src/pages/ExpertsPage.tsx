/** Experts: their load per layer and rank, dispatch and combine hidden and exposed, and the kernels. */
import { useMemo } from "react";

import type { Table } from "../api/types";
import { Chart } from "../chart/Chart";
import { numberOf, textOf } from "../lib/rows";
import { adjust, navigate, useParams } from "../state/urlStore";
import { Segmented } from "../ui/Segmented";
import { EmptySelection } from "./EmptySelection";
import { exchangeBars } from "./experts/exchangeBars";
import { loadMatrix } from "./experts/loadMatrix";
import { BigFacts } from "./Facts";
import { PageNotes } from "./PageNotes";
import { FoldedTable, PageTable } from "./PageTable";
import { RankMatrix } from "./rankMatrix/RankMatrix";
import { ViewFrame, type PageProps, type ViewContext } from "./ViewFrame";

const LOADS = "expert_loads";
const RANKS = "expert_ranks";
/** The map needs all rows of its table at once: the server sends no more. */
const MOST_LOADS = 16_384;
/** Of more ranks bars are too narrow to read. */
const MOST_BARS = 64;
/** What may colour the map; the first with values is the default. */
const MEASURES = ["load_ratio", "tokens", "product_us"];
/** Parameter of the address with the chosen one. */
const MEASURE = "load";

export function ExpertsPage(props: PageProps) {
  return (
    <ViewFrame {...props} longTable={LOADS} rows={MOST_LOADS}>
      {(context) => {
        const { view, fileName } = context;
        const [loads, ranks] = [view.tables[LOADS], view.tables[RANKS]];
        if (loads === undefined || ranks === undefined) return null;
        const exchanges = ranks.row_count > 0 && ranks.row_count <= MOST_BARS && view.facts.some(({ key, value }) => key === "exchange_exposed_us" && value !== null);
        return (
          <>
            <BigFacts facts={view.facts} notes={view.notes} />
            {ranks.row_count === 0 && <EmptySelection noun="work of experts" />}
            {loads.row_count > 0 && ranks.row_count > 1 && <LoadMap loads={loads} ranks={ranks} context={context} />}
            {exchanges && (
              <Chart
                title="Dispatch and combine of each rank"
                help="Time per step in which tokens are sent to the ranks of their experts and back. Hidden: the rank computes meanwhile. Click a bar to open the rank."
                chart={exchangeBars(ranks)}
                fileName={fileName("exchange")}
                height={280}
                onPick={(index) => openWorker(ranks, index)}
              />
            )}
            <PageTable context={context} name="expert_layers" hideEmpty />
            <PageTable context={context} name={RANKS} hideEmpty />
            <PageTable context={context} name="experts" hideEmpty />
            <PageTable context={context} name="expert_kernels" hideEmpty />
            <FoldedTable context={context} name={LOADS} />
            <PageNotes notes={view.notes} />
          </>
        );
      }}
    </ViewFrame>
  );
}

interface LoadMapProps {
  readonly loads: Table;
  readonly ranks: Table;
  readonly context: ViewContext;
}

function LoadMap({ loads, ranks, context }: LoadMapProps) {
  const params = useParams();
  const known = MEASURES.filter((key) => loads.rows.some((row) => numberOf(loads, row, key) !== null));
  const chosen = known.find((key) => key === params[MEASURE]) ?? known[0];
  const column = loads.columns.find(({ key }) => key === chosen);
  const matrix = useMemo(() => {
    const rankOf = new Map(ranks.rows.flatMap((row) => (numberOf(ranks, row, "rank") === null ? [] : [[textOf(ranks, row, "worker"), numberOf(ranks, row, "rank") ?? 0] as const])));
    return loadMatrix(loads, chosen ?? "", rankOf);
  }, [loads, ranks, chosen]);
  if (column === undefined || chosen === undefined) return null;
  return (
    <RankMatrix
      title="Load of experts per layer and rank"
      help={loads.help}
      ranks={matrix.cells}
      arranged={matrix.arrangement}
      measure={{ title: column.title, unit: column.unit, help: column.help }}
      fileName={context.fileName("loads")}
      extra={<Segmented label="Measure" values={known} value={chosen} onPick={(key) => adjust({ [MEASURE]: key })} title={(key) => loads.columns.find((each) => each.key === key)?.title ?? key} />}
      nullReason={loads.null_reasons[chosen]}
      onOpen={(worker) => navigate({ view: "overview", worker })}
    />
  );
}

function openWorker(table: Table, index: number): void {
  const row = table.rows[index];
  if (row !== undefined) navigate({ view: "overview", worker: textOf(table, row, "worker") });
}
