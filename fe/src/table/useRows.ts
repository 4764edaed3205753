/**
 * The rows of a table. A completely loaded table is filtered and sorted here; for a larger one the server does it,
 * page by page, with the same grammar.
 */
import { keepPreviousData, skipToken, useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { apiUrl, fetchJson, type Query } from "../api/client";
import { fetchUncached, fetchCountingBusy } from "../api/queryClient";
import { useFileState } from "../api/runs";
import type { ColumnSum, Row, Table, View } from "../api/types";
import { formatFilter, formatSort, isExpression, type Clause } from "../lib/grammar";
import { compileFilter, compileSort, filterProblem } from "../lib/rowQuery";
import { sumsOf } from "./sums";
import type { TableState } from "./useTableState";

/** Rows per page of larger tables. */
export const PAGE_ROWS = 5000;

/** Where the rows of a table come from, for partly loaded tables and for exports. */
export interface TableSource {
  readonly view: string;
  readonly table: string;
  readonly query: Query;
  /** A fixed filter in addition to those of the user. */
  readonly filter?: string;
}

export interface ShownRows {
  readonly rows: readonly Row[];
  /** Number of rows that pass the filters, loaded or not. */
  readonly matching: number;
  readonly total: number;
  readonly problem: string | null;
  /** Sums of the additive columns by key. */
  readonly sums: Readonly<Record<string, ColumnSum>>;
  /** Fetches the next page; null when all rows are loaded. */
  readonly more: (() => void) | null;
}

export function clausesOf(state: TableState): Clause[] {
  const search = state.search.trim();
  return search === "" ? [...state.filter] : [...state.filter, { key: null, operator: state.searchIsExpression ? "=~" : "~", value: search }];
}

export function isWhole(table: Table): boolean {
  return table.rows.length >= table.row_count;
}

/** URL of the rows of `source` in the order and with the filters of `state`. */
export function rowsUrl(source: TableSource, state: TableState, extra: Query = {}): string {
  return apiUrl(`view/${source.view}`, {
    ...source.query,
    table: source.table,
    sort: formatSort(state.sort),
    filter: [source.filter ?? "", formatFilter(clausesOf(state))].filter((text) => text !== "").join(";"),
    ...extra,
  });
}

/** Whether filters run in the page: all rows are loaded, and no regular expression needs the server. */
function isLocal(table: Table, state: TableState): boolean {
  return isWhole(table) && !clausesOf(state).some(isExpression);
}

const NO_SERVER = "Regular expressions need the server; this table was built in the page.";

export function useRows(table: Table, source: TableSource | null, state: TableState): ShownRows {
  const filterText = formatFilter(clausesOf(state));
  const sortText = formatSort(state.sort);
  const whole = isLocal(table, state);
  const rejection = filterProblem(table.columns, clausesOf(state));
  const problem = rejection ?? (!whole && source === null ? NO_SERVER : null);
  const local = useMemo(() => {
    if (!whole || rejection !== null) return [];
    const passes = compileFilter(table.columns, clausesOf(state));
    const rows = filterText === "" ? [...table.rows] : table.rows.filter(passes);
    return sortText === "" ? rows : rows.sort(compileSort(table.columns, state.sort));
    // eslint-disable-next-line react-hooks/exhaustive-deps -- the texts hold all of `state` that matters
  }, [table, whole, rejection, filterText, sortText]);
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

/** The pages fetched so far; while those of another order or filter load, the previous ones. */
function useRemoteRows(source: TableSource | null, table: Table, state: TableState): ShownRows {
  const files = useFileState(source?.query ?? {});
  const url = source === null ? null : rowsUrl(source, state);
  const isUnchanged = source !== null && clausesOf(state).length === 0 && formatSort(state.sort) === table.sort;
  const { data, error, isPlaceholderData, hasNextPage, isFetching, fetchNextPage } = useInfiniteQuery({
    // While the next answer loads the table is still the previous one: its id keeps the two apart.
    queryKey: ["rows", url, files.key, isUnchanged ? tableId(table) : null],
    queryFn:
      source === null
        ? skipToken
        : (context) => {
            const page = rowsUrl(source, state, { offset: context.pageParam, limit: PAGE_ROWS });
            return fetchCountingBusy(context, async (signal) => tableOf(await fetchJson<View>(page, signal), source));
          },
    ...(isUnchanged ? { initialData: { pages: [table], pageParams: [0] } } : {}),
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
  // The server sums all rows of the table, not only those of the fixed filter.
  const sums = Object.fromEntries(Object.entries(first.sums ?? {}).map(([key, sum]) => [key, source?.filter === undefined ? sum : { ...sum, all: null }]));
  return { rows, matching: first.row_count, total: table.row_count, problem: error?.message ?? null, sums, more: canFetch ? () => void fetchNextPage() : null };
}

function tableOf({ tables }: View, { table: name }: TableSource): Table {
  const table = tables[name];
  if (table === undefined) throw new Error(`The server sent no table “${name}”.`);
  return table;
}

/** All rows that pass the filters, also those not loaded yet, for exports. */
export async function allRows(table: Table, shown: ShownRows, source: TableSource | null, state: TableState) {
  if (isLocal(table, state) || source === null) return shown.rows;
  return tableOf(await fetchUncached(rowsUrl(source, state), fetchJson<View>), source).rows;
}
