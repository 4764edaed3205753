/** What of the page is in its address: the query that ran, over what, and how its answer is shown. */
import type { Params } from "../../state/address";
import type { Patch } from "../../state/urlStore";

export const QUERY_KEY = "query";
/** `all` for all workers of the run; else the worker of the address. */
export const WORKERS_KEY = "workers";
export const ALL_WORKERS = "all";
export const MAX_ROWS_KEY = "max_rows";
export const FORM_KEY = "form";
export const CHART_KEYS = { x: "x", y: "y", by: "by", kind: "kind" } as const;
/** What the address calls the table of the answer. */
export const TABLE_ADDRESS = "answer";

/** Longer addresses are cut by chats and mail, and refused by proxies. */
export const MAX_ADDRESS_CHARACTERS = 8000;

export type Form = "table" | "chart";

export function formOf(params: Params): Form {
  return params[FORM_KEY] === "chart" ? "chart" : "table";
}

/** Characters that a query takes in an address. */
export function addressLength(query: string): number {
  try {
    return encodeURIComponent(query).length;
  } catch {
    return Infinity; // half of a surrogate pair
  }
}

export function fitsAddress(query: string): boolean {
  return addressLength(query) <= MAX_ADDRESS_CHARACTERS;
}

/** The changes for another query: what was chosen about the answer of the former one does not apply to it. */
export function queryPatch(params: Params, query: string): Patch {
  if (query === params[QUERY_KEY]) return {};
  const ofAnswer = Object.keys(params).filter((key) => key.startsWith(`${TABLE_ADDRESS}.`));
  const cleared = [...ofAnswer, ...Object.values(CHART_KEYS), MAX_ROWS_KEY].map((key) => [key, null] as const);
  return { ...Object.fromEntries(cleared), [QUERY_KEY]: fitsAddress(query) ? query : null };
}
