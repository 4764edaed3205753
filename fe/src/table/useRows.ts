/**
 * The rows a table shows. A table that came whole is filtered and sorted here; one that is too large
 * asks the server, page by page, with the same grammar.
 */
import { keepPreviousData, skipToken, useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { askFor, askOnce } from "../api/answers";
import { apiUrl, fetchJson, type Query } from "../api/client";
import { useFileState } from "../api/runs";
import type { ColumnSum, Row, Table, View } from "../api/types";
import { formatFilter, formatSort, isExpression, type Clause } from "../lib/grammar";
import { compileFilter, compileSort, filterProblem } from "../lib/rowQuery";
import { sumsOf } from "./sums";
import type { TableState } from "./useTableState";

/** More rows than this are asked for in pages. */
export const PAGE_ROWS = 5000;

/** Where the rows of a table come from, for tables that did not come whole and for exports. */
export interface TableSource {
  readonly view: string;
  readonly table: string;
  readonly query: Query;
  /** What its rows are limited to, whatever else they are filtered by. */
  readonly filter?: string;
}

export interface ShownRows {
  readonly rows: readonly Row[];
  /** Rows that pass the filters, here or still on the server. */
  readonly matching: number;
  readonly total: number;
  readonly problem: string | null;
  /** By column key, of the columns whose values add up. */
  readonly sums: Readonly<Record<string, ColumnSum>>;
  /** Fetches the next page; null when all is here. */
  readonly more: (() => void) | null;
}

export function clausesOf(state: TableState): Clause[] {
  const search = state.search.trim();
  return search === "" ? [...state.filter] : [...state.filter, { key: null, operator: state.searchIsExpression ? "=~" : "~", value: search }];
}

export function isWhole(table: Table): boolean {
  return table.rows.length >= table.row_count;
}

/** Address of the rows of `source` in the order and with the filters of `state`. */
export function rowsUrl(source: TableSource, state: TableState, extra: Query = {}): string {
  return apiUrl(`view/${source.view}`, {
    ...source.query,
    table: source.table,
    sort: formatSort(state.sort),
    filter: [source.filter ?? "", formatFilter(clausesOf(state))].filter((text) => text !== "").join(";"),
    ...extra,
  });
}

/** Whether the rows are found here: all have come, and nothing is asked that only the server can match. */
function isLocal(table: Table, state: TableState): boolean {
  return isWhole(table) && !clausesOf(state).some(isExpression);
}

const NO_SERVER = "Regular expressions are matched by the server; this table was made in the page.";

export function useRows(table: Table, source: TableSource | null, state: TableState): ShownRows {
  const filterText = formatFilter(clausesOf(state));
  const sortText = formatSort(state.sort);
  const whole = isLocal(table, state);
  const refused = filterProblem(table.columns, clausesOf(state));
  const problem = refused ?? (!whole && source === null ? NO_SERVER : null);
  const local = useMemo(() => {
    if (!whole || refused !== null) return [];
    const passes = compileFilter(table.columns, clausesOf(state));
    const rows = filterText === "" ? [...table.rows] : table.rows.filter(passes);
    return sortText === "" ? rows : rows.sort(compileSort(table.columns, state.sort));
    // eslint-disable-next-line react-hooks/exhaustive-deps -- the texts say all of `state` that matters
  }, [table, whole, refused, filterText, sortText]);
  const sums = useMemo(() => (whole ? sumsOf(table, local) : {}), [table, whole, local]);
  const remote = useRemoteRows(whole ? null : source, table, state);
  if (!whole && problem === null) return remote;
  return { rows: local, matching: local.length, total: table.rows.length, problem, sums, more: null };
}

const tableIds = new WeakMap<Table, number>();
let lastTableId = 0;

function tableId(table: Table): number {
  const id = tableIds.get(table) ?? ++lastTableId;
  tableIds.set(table, id);
  return id;
}

/** The pages fetched so far; while those of another order or filter come, the ones before. */
function useRemoteRows(source: TableSource | null, table: Table, state: TableState): ShownRows {
  const files = useFileState(source?.query ?? {});
  const url = source === null ? null : rowsUrl(source, state);
  const isAsItCame = source !== null && clausesOf(state).length === 0 && formatSort(state.sort) === table.sort;
  const { data, error, isPlaceholderData, hasNextPage, isFetching, fetchNextPage } = useInfiniteQuery({
    // While the next answer is awaited the table is still of the one before: what begins with it is of it alone.
    queryKey: ["rows", url, files.key, isAsItCame ? tableId(table) : null],
    queryFn:
      source === null
        ? skipToken
        : (context) => {
            const page = rowsUrl(source, state, { offset: context.pageParam, limit: PAGE_ROWS });
            return askOnce(context, async (signal) => tableOf(await fetchJson<View>(page, signal), source));
          },
    ...(isAsItCame ? { initialData: { pages: [table], pageParams: [0] } } : {}),
    initialPageParam: 0,
    getNextPageParam: (last, pages) => {
      const count = pages.reduce((sum, { rows }) => sum + rows.length, 0);
      return last.rows.length > 0 && count < last.row_count ? count : undefined;
    },
    placeholderData: keepPreviousData,
  });
  const rows = useMemo(() => data?.pages.flatMap((page) => page.rows) ?? table.rows, [data, table]);
  if (error !== null && data === undefined) return { rows: [], matching: 0, total: table.row_count, problem: error.message, sums: {}, more: null };
  const canFetch = hasNextPage && !isFetching && !isPlaceholderData && error === null;
  const first = data?.pages[0] ?? table;
  // The server sums all rows of the table, not all of those this one is limited to.
  const sums = Object.fromEntries(Object.entries(first.sums ?? {}).map(([key, sum]) => [key, source?.filter === undefined ? sum : { ...sum, all: null }]));
  return { rows, matching: first.row_count, total: table.row_count, problem: error?.message ?? null, sums, more: canFetch ? () => void fetchNextPage() : null };
}

function tableOf({ tables }: View, { table: name }: TableSource): Table {
  const table = tables[name];
  if (table === undefined) throw new Error(`The server sent no table “${name}”.`);
  return table;
}

/** Every row that passes the filters, also those not fetched yet: for exports. */
export async function allRows(table: Table, shown: ShownRows, source: TableSource | null, state: TableState) {
  if (isLocal(table, state) || source === null) return shown.rows;
  return tableOf(await askFor(rowsUrl(source, state), fetchJson<View>), source).rows;
}
