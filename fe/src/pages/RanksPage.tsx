/** All ranks of a job beside each other: why some are slow, which stand out, which behave alike, and the measures of each. */
import { useMemo } from "react";

import type { Row, Table } from "../api/types";
import { Chart } from "../chart/Chart";
import type { CategoryChart } from "../chart/types";
import { numberOf, textOf } from "../lib/rows";
import { adjust, navigate, useParams } from "../state/urlStore";
import { DataTable } from "../table/DataTable";
import { EmptySelection } from "./EmptySelection";
import { BigFacts } from "./Facts";
import { PageNotes } from "./PageNotes";
import { FoldedTable, PageTable } from "./PageTable";
import { RankMatrix } from "./rankMatrix/RankMatrix";
import { firstMeasure, matrixRanks, measuresOf } from "./ranks/matrix";
import { SlowRanks } from "./ranks/SlowRanks";
import { ViewFrame, type PageProps, type ViewContext } from "./ViewFrame";

const RANKS = "ranks";
/** A picture of all ranks needs all rows at once. */
const MAX_RANKS = 100_000;
/** Of fewer ranks bars show more than cells do. */
const LEAST_CELLS = 9;
const PARTS = ["computation_us", "exposed_communication_us", "idle_us"];
/** In the address. */
const MEASURE_KEY = "rank_measure";

export function RanksPage(props: PageProps) {
  return (
    <ViewFrame {...props} longTable={RANKS} rows={MAX_RANKS}>
      {(context) => <RanksBody context={context} />}
    </ViewFrame>
  );
}

function RanksBody({ context }: { readonly context: ViewContext }) {
  const { view, source, fileName } = context;
  const { ranks: table, slow_ranks: causes } = view.tables;
  if (table === undefined) return null;
  return (
    <>
      <BigFacts facts={view.facts} notes={view.notes} />
      {table.row_count === 0 && <EmptySelection noun="rank" />}
      {causes !== undefined && table.row_count > 1 && <SlowRanks table={causes} />}
      {table.row_count >= LEAST_CELLS ? <Matrix context={context} table={table} /> : table.row_count > 0 && (
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
      <FoldedTable context={context} name="rank_steps" />
      <PageNotes notes={view.notes} />
    </>
  );
}

function Matrix({ context: { view, fileName }, table }: { readonly context: ViewContext; readonly table: Table }) {
  const outliers = view.tables["rank_outliers"];
  const named = (useParams() as Record<string, string | undefined>)[MEASURE_KEY];
  const measures = useMemo(() => measuresOf(table), [table]);
  const measure = measures.find(({ key }) => key === named) ?? firstMeasure(measures, outliers);
  const key = measure?.key;
  const ranks = useMemo(() => (key === undefined ? [] : matrixRanks(table, key, outliers)), [table, key, outliers]);
  if (measure === undefined) return null;
  return (
    <RankMatrix
      title="Ranks"
      help={table.help}
      ranks={ranks}
      measure={measure}
      fileName={fileName("matrix")}
      nullReason={table.null_reasons[measure.key]}
      onOpen={(worker) => navigate({ view: "overview", worker })}
      extra={
        <select className="field no-print" aria-label="Measure" value={measure.key} onChange={({ target }) => adjust({ [MEASURE_KEY]: target.value })}>
          {measures.map((each) => (
            <option key={each.key} value={each.key}>
              {each.title}
            </option>
          ))}
        </select>
      }
    />
  );
}

/** One stacked bar per rank, the parts of its mean step. */
export function rankChart(table: Table): CategoryChart {
  const ranks = table.rows.map((row) => numberOf(table, row, "rank"));
  // Several programs in one folder have a rank 0 each.
  const named = new Set(ranks).size === ranks.length && !ranks.includes(null);
  return {
    kind: "stacked_bar",
    horizontal: false,
    categories: table.rows.map((row, index) => (named ? String(ranks[index]) : textOf(table, row, "worker"))),
    fullNames: table.rows.map((row) => textOf(table, row, "worker")),
    lines: PARTS.flatMap((key) => {
      const column = table.columns.find((each) => each.key === key);
      return column === undefined ? [] : [{ name: column.title, values: table.rows.map((row) => numberOf(table, row, key)) }];
    }),
    categoryTitle: named ? "Rank" : "Worker",
    value: { title: "Time", unit: "us" },
  };
}

/** The overview of the rank of a row. */
function openRank(table: Table, row: Row | undefined): void {
  if (row !== undefined) navigate({ view: "overview", worker: textOf(table, row, "worker") });
}
