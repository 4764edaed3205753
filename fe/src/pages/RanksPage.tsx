/** All ranks of a job beside each other: which stand out, which behave alike, and the measures of each. */
import type { Row, Table } from "../api/types";
import { Chart } from "../chart/Chart";
import type { CategoryChart } from "../chart/types";
import { numberOf, textOf } from "../lib/rows";
import { navigate } from "../state/urlStore";
import { DataTable } from "../table/DataTable";
import { EmptySelection } from "./EmptySelection";
import { BigFacts } from "./Facts";
import { PageNotes } from "./PageNotes";
import { PageTable } from "./PageTable";
import { ViewFrame, type PageProps } from "./ViewFrame";

const RANKS = "ranks";
/** A picture of all ranks needs all rows at once. */
const MAX_RANKS = 100_000;
/** Of more ranks bars are too narrow to read. */
const MOST_BARS = 64;
const PARTS = ["computation_us", "exposed_communication_us", "idle_us"];

export function RanksPage(props: PageProps) {
  return (
    <ViewFrame {...props} longTable={RANKS} rows={MAX_RANKS}>
      {(context) => {
        const { view, source, fileName } = context;
        const table = view.tables[RANKS];
        if (table === undefined) return null;
        return (
          <>
            <BigFacts facts={view.facts} notes={view.notes} />
            {table.row_count === 0 && <EmptySelection noun="rank" />}
            {table.row_count > 0 && table.row_count <= MOST_BARS && (
              <Chart
                title="Mean step of each rank"
                help={`${table.help} Click a bar to open that rank.`}
                chart={rankChart(table)}
                fileName={fileName("steps")}
                height={300}
                onPick={(index) => openRank(table, table.rows[index])}
              />
            )}
            <DataTable
              name="ranks.ranks"
              table={table}
              source={source(RANKS)}
              address={RANKS}
              fileName={fileName(RANKS)}
              notes={view.notes}
              rowId={(row) => textOf(table, row, "worker")}
              choice={{ id: null, onChoose: (row) => openRank(table, row) }}
              maxHeight="480px"
            />
            <PageTable context={context} name="patterns" hideEmpty />
            <PageTable context={context} name="rank_outliers" hideEmpty />
            <PageTable context={context} name="rank_steps" hideEmpty />
            <PageNotes notes={view.notes} />
          </>
        );
      }}
    </ViewFrame>
  );
}

/** One stacked bar per rank, the parts of its mean step. */
export function rankChart(table: Table): CategoryChart {
  return {
    kind: "stacked_bar",
    horizontal: false,
    categories: table.rows.map((row) => nameOf(table, row)),
    fullNames: table.rows.map((row) => textOf(table, row, "worker")),
    lines: PARTS.flatMap((key) => {
      const column = table.columns.find((each) => each.key === key);
      return column === undefined ? [] : [{ name: column.title, values: table.rows.map((row) => numberOf(table, row, key)) }];
    }),
    categoryTitle: "Rank",
    value: { title: "Time", unit: "us" },
  };
}

function nameOf(table: Table, row: Row): string {
  const rank = numberOf(table, row, "rank");
  return rank === null ? textOf(table, row, "worker") : String(rank);
}

/** The overview of the rank of a row. */
function openRank(table: Table, row: Row | undefined): void {
  if (row !== undefined) navigate({ view: "overview", worker: textOf(table, row, "worker") });
}
