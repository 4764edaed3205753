/** Sort, filters, search and open rows of one table: in the address for the tables of a page. */
import { useCallback, useState } from "react";

import { formatFilter, formatSort, parseFilter, parseSort, type Clause, type SortKey } from "../lib/grammar";
import { formatIds, parseIds } from "../state/openIds";
import { adjust, useParams, type Patch } from "../state/urlStore";

export interface TableState {
  readonly sort: readonly SortKey[];
  readonly filter: readonly Clause[];
  readonly search: string;
  /** Whether the search is a regular expression. */
  readonly searchIsExpression: boolean;
  /** Ids of open rows. */
  readonly open: ReadonlySet<string>;
}

export interface TableStateControl {
  readonly state: TableState;
  /** Whether the user sorted; otherwise the rows are in the default order of the server. */
  readonly sortIsChosen: boolean;
  setSort: (keys: readonly SortKey[]) => void;
  setFilter: (clauses: readonly Clause[]) => void;
  setSearch: (text: string) => void;
  setSearchIsExpression: (isExpression: boolean) => void;
  setOpen: (ids: ReadonlySet<string>) => void;
}

/** Sort order of tables inside rows by name, while the page is open, so that the next row has the same. */
const rememberedSorts = new Map<string, string>();

/**
 * @param address Prefix of the parameters in the address; null stores the state in the component,
 *   for tables inside rows.
 * @param name Name of the table; tables inside rows with the same name share the sort order.
 * @param defaultSort The order of the server; it is not written to the address.
 */
export function useTableState(address: string | null, name: string, defaultSort: string): TableStateControl {
  const params = useParams();
  const [local, setLocal] = useState<Readonly<Record<string, string>>>(() => ({ sort: rememberedSorts.get(name) ?? "" }));
  // Empty values count as unset.
  const read = (part: string) => (address === null ? local[part] : params[`${address}.${part}`]) || undefined;

  const write = useCallback(
    (part: string, text: string) => {
      if (address !== null) adjust({ [`${address}.${part}`]: text } satisfies Patch);
      else setLocal((before) => ({ ...before, [part]: text }));
      if (address === null && part === "sort") rememberedSorts.set(name, text);
    },
    [address, name],
  );

  return {
    state: {
      sort: parseSort(read("sort") ?? defaultSort),
      filter: parseFilter(read("filter") ?? ""),
      search: read("q") ?? "",
      searchIsExpression: read("regex") === "yes",
      open: new Set(parseIds(read("open") ?? "")),
    },
    sortIsChosen: read("sort") !== undefined,
    setSort: (keys) => {
      const text = formatSort(keys);
      write("sort", text === defaultSort ? "" : text);
    },
    setFilter: (clauses) => write("filter", formatFilter(clauses)),
    setSearch: (text) => write("q", text),
    setSearchIsExpression: (isExpression) => write("regex", isExpression ? "yes" : ""),
    setOpen: (ids) => write("open", formatIds(ids)),
  };
}
