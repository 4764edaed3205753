/**
 * The sort and filter grammar of the server (`docs/architecture.md`), read and written here too: addresses
 * and requests speak it. What a text means is in `rowQuery.ts`.
 *
 *     parseFilter("name~gemm;calls>=10;conv")
 */

export type Operator = "~" | "!~" | "=" | "!=" | ">" | ">=" | "<" | "<=";

export interface Clause {
  /** Null searches every text column. */
  readonly key: string | null;
  readonly operator: Operator;
  readonly value: string;
}

export interface SortKey {
  readonly key: string;
  readonly descending: boolean;
}

const CLAUSE = /^[^\S\ufeff]*([A-Za-z_][A-Za-z0-9_]*)[^\S\ufeff]*(!~|!=|>=|<=|~|=|>|<)([^]*)$/;
const CLAUSES = /((?:\\[^]|[^;\\]|\\$)*)(?:;|$)/g;
const ESCAPED = /\\([;\\~!=<>])/g;
/** White space to the server too. */
const AROUND = /^[^\S\ufeff]+|[^\S\ufeff]+$/g;

function stripped(text: string): string {
  return text.replace(AROUND, "");
}

/** `text` so that the grammar takes every character literally. */
function escapeValue(text: string): string {
  return text.replace(/[;\\]/g, "\\$&");
}

function escapeSearch(text: string): string {
  return text.replace(/[;\\~!=<>]/g, "\\$&");
}

export function parseFilter(text: string): Clause[] {
  const clauses: Clause[] = [];
  for (const [, part = ""] of text.matchAll(CLAUSES)) {
    if (stripped(part) === "") continue;
    const match = CLAUSE.exec(part);
    const unescape = (raw: string) => stripped(raw.replace(ESCAPED, "$1"));
    if (match === null) clauses.push({ key: null, operator: "~", value: unescape(part) });
    else {
      const [, key = "", operator = "=", value = ""] = match;
      clauses.push({ key, operator: operator as Operator, value: unescape(value) });
    }
  }
  return clauses;
}

export function formatFilter(clauses: readonly Clause[]): string {
  return clauses
    .map(({ key, operator, value }) =>
      key === null ? escapeSearch(value) : `${key}${operator}${escapeValue(value)}`,
    )
    .join(";");
}

/** A key that is missing is "": the server refuses it. */
export function parseSort(text: string): SortKey[] {
  if (text === "") return [];
  return text.split(",").map((part) => {
    const key = stripped(part);
    return { key: stripped(key.replace(/^-/, "")), descending: key.startsWith("-") };
  });
}

export function formatSort(keys: readonly SortKey[]): string {
  return keys.map(({ key, descending }) => (descending ? `-${key}` : key)).join(",");
}
