/** Sort, filters, search and open rows of one table: in the address for the tables of a page. */
import { useCallback, useState } from "react";

import { formatFilter, formatSort, parseFilter, parseSort, type Clause, type SortKey } from "../lib/grammar";
import { adjust, useParams, type Patch } from "../state/urlStore";

export interface TableState {
  readonly sort: readonly SortKey[];
  readonly filter: readonly Clause[];
  readonly search: string;
  /** Whether what is searched for is a regular expression. */
  readonly searchIsExpression: boolean;
  /** Ids of open rows. */
  readonly open: ReadonlySet<string>;
}

export interface TableStateControl {
  readonly state: TableState;
  /** Whether someone sorted; else the rows are in the order the server declares. */
  readonly sortIsChosen: boolean;
  setSort: (keys: readonly SortKey[]) => void;
  setFilter: (clauses: readonly Clause[]) => void;
  setSearch: (text: string) => void;
  setSearchIsExpression: (isExpression: boolean) => void;
  setOpen: (ids: ReadonlySet<string>) => void;
}

/**
 * @param address Prefix of the parameters in the address; null keeps the state in the component,
 *   for tables inside rows.
 * @param defaultSort The order the server declares; it is not written to the address.
 */
export function useTableState(address: string | null, defaultSort: string): TableStateControl {
  const params = useParams();
  const [local, setLocal] = useState<Record<string, string>>({});
  const read = (name: string) => (address === null ? local[name] : params[`${address}.${name}`]);

  const write = useCallback(
    (name: string, text: string) => {
      if (address === null) setLocal((before) => ({ ...before, [name]: text }));
      else adjust({ [`${address}.${name}`]: text } satisfies Patch);
    },
    [address],
  );

  return {
    state: {
      sort: parseSort(read("sort") ?? defaultSort),
      filter: parseFilter(read("filter") ?? ""),
      search: read("q") ?? "",
      searchIsExpression: read("regex") === "yes",
      open: new Set(parseIds(read("open") ?? "")),
    },
    sortIsChosen: read("sort") !== undefined && read("sort") !== "",
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

/** Ids are names from the trace: commas in them are escaped. */
function formatIds(ids: ReadonlySet<string>): string {
  return [...ids].map((id) => id.replace(/[\\,]/g, "\\$&")).join(",");
}

function parseIds(text: string): string[] {
  return [...text.matchAll(/((?:\\[^]|[^,\\])+)(?:,|$)/g)].map(([, id = ""]) => id.replace(/\\([^])/g, "$1"));
}
