/**
 * The rows a table shows. A table that came whole is filtered and sorted here; one that is too large
 * asks the server, page by page, with the same grammar.
 */
import { useEffect, useMemo, useState } from "react";

import { apiUrl, request, type Query } from "../api/client";
import type { Row, Table, View } from "../api/types";
import { compileFilter, compileSort, formatFilter, formatSort, type Clause } from "../lib/grammar";
import type { TableState } from "./useTableState";

/** More rows than this are asked for in pages. */
export const PAGE_ROWS = 5000;

/** Where the rows of a table come from, for tables that did not come whole and for exports. */
export interface TableSource {
  readonly view: string;
  readonly table: string;
  readonly query: Query;
}

export interface ShownRows {
  readonly rows: readonly Row[];
  /** Rows that pass the filters, here or still on the server. */
  readonly matching: number;
  readonly total: number;
  readonly problem: string | null;
  /** Fetches the next page; null when all is here. */
  readonly more: (() => void) | null;
}

export function clausesOf(state: TableState): Clause[] {
  const search = state.search.trim();
  return search === "" ? [...state.filter] : [...state.filter, { key: null, operator: "~", value: search }];
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
    filter: formatFilter(clausesOf(state)),
    ...extra,
  });
}

export function useRows(table: Table, source: TableSource | null, state: TableState): ShownRows {
  const filterText = formatFilter(clausesOf(state));
  const sortText = formatSort(state.sort);
  const whole = isWhole(table);
  const local = useMemo(() => {
    if (!whole) return [];
    const passes = compileFilter(table.columns, clausesOf(state));
    const rows = filterText === "" ? [...table.rows] : table.rows.filter(passes);
    return sortText === "" ? rows : rows.sort(compileSort(table.columns, state.sort));
    // eslint-disable-next-line react-hooks/exhaustive-deps -- the texts say all of `state` that matters
  }, [table, whole, filterText, sortText]);
  const remote = useRemoteRows(whole ? null : source, table, state, `${sortText}\n${filterText}`);
  if (!whole) return remote;
  return { rows: local, matching: local.length, total: table.rows.length, problem: null, more: null };
}

interface Pages {
  readonly key: string;
  readonly rows: readonly Row[];
  readonly matching: number;
  readonly problem: string | null;
}

function useRemoteRows(source: TableSource | null, table: Table, state: TableState, key: string): ShownRows {
  const [pages, setPages] = useState<Pages | null>(null);
  const [wanted, setWanted] = useState({ key, offset: 0 });
  const offset = wanted.key === key ? wanted.offset : 0;
  const url = source === null ? null : rowsUrl(source, state, { offset, limit: PAGE_ROWS });

  useEffect(() => {
    if (url === null || source === null) return;
    const abort = new AbortController();
    const fetchPage = async () => {
      const page = await requestTable(url, source.table, abort.signal);
      setPages((before) => ({
        key,
        rows: offset > 0 && before?.key === key ? [...before.rows, ...page.rows] : page.rows,
        matching: page.row_count,
        problem: null,
      }));
    };
    fetchPage().catch((error: unknown) => {
      if (abort.signal.aborted) return;
      setPages({ key, rows: [], matching: 0, problem: error instanceof Error ? error.message : String(error) });
    });
    return () => abort.abort();
    // eslint-disable-next-line react-hooks/exhaustive-deps -- the address says all that is asked
  }, [url]);

  const shown = pages ?? { key, rows: table.rows, matching: table.row_count, problem: null };
  const next = shown.rows.length;
  return {
    ...shown,
    total: table.row_count,
    more: shown.key === key && next < shown.matching && next !== offset ? () => setWanted({ key, offset: next }) : null,
  };
}

async function requestTable(url: string, name: string, signal?: AbortSignal): Promise<Table> {
  const answer = await request<View>(url, signal);
  const table = answer.state === "ready" ? answer.data.tables[name] : undefined;
  if (table === undefined) throw new Error("The trace is being read again.");
  return table;
}

/** Every row that passes the filters, also those not fetched yet: for exports. */
export async function allRows(table: Table, shown: ShownRows, source: TableSource | null, state: TableState) {
  if (isWhole(table) || source === null) return shown.rows;
  return (await requestTable(rowsUrl(source, state), source.table)).rows;
}
