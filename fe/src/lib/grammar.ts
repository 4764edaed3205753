/**
 * Parses and formats the sort and filter grammar of the server (`docs/internals.md`), used in addresses and
 * requests. `rowQuery.ts` evaluates it.
 *
 *     parseFilter("name~gemm;calls>=10;conv;stack=~/train.*\\.py/")
 */

/** `=~` and `!=~` take a regular expression; written `key=~/expression/`. */
export type Operator = "~" | "!~" | "=" | "!=" | ">" | ">=" | "<" | "<=" | "=~" | "!=~";

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
const SEARCHED_EXPRESSION = /^[^\S\ufeff]*(!?=)(~\/[^]*)$/;
const EXPRESSION = /^[^\S\ufeff]*~\/([^]*)\/[^\S\ufeff]*$/;
const CLAUSES = /((?:\\[^]|[^;\\]|\\$)*)(?:;|$)/g;
const ESCAPED = /\\([;\\~!=<>])/g;
/** White space as the server defines it. */
const AROUND = /^[^\S\ufeff]+|[^\S\ufeff]+$/g;

function stripped(text: string): string {
  return text.replace(AROUND, "");
}

/** Escapes `text` so that the grammar reads every character literally. */
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
    if (match === null) clauses.push(parseSearch(part));
    else {
      const [, key = "", operator = "=", value = ""] = match;
      clauses.push({ key, ...(expressionOf(operator, value) ?? { operator: operator as Operator, value: unescaped(value) }) });
    }
  }
  return clauses;
}

function parseSearch(part: string): Clause {
  const [, operator = "", value = ""] = SEARCHED_EXPRESSION.exec(part) ?? [];
  return { key: null, ...(expressionOf(operator, value) ?? { operator: "~", value: unescaped(part) }) };
}

/** Operator and value of a regular expression; null when `value` is none. */
function expressionOf(operator: string, value: string): Pick<Clause, "operator" | "value"> | null {
  const [, expression] = EXPRESSION.exec(value) ?? [];
  if (expression === undefined || (operator !== "=" && operator !== "!=")) return null;
  return { operator: `${operator}~`, value: expression.replace(ESCAPED, "$1") };
}

function unescaped(raw: string): string {
  return stripped(raw.replace(ESCAPED, "$1"));
}

/** Whether a clause holds a regular expression, which only the server matches. */
export function isExpression({ operator }: Clause): boolean {
  return operator === "=~" || operator === "!=~";
}

export function formatFilter(clauses: readonly Clause[]): string {
  return clauses
    .map((clause) => {
      const { key, operator, value } = clause;
      if (isExpression(clause)) return `${key ?? ""}${operator}/${escapeValue(value)}/`;
      // A value that begins like an expression is meant literally.
      return key === null ? escapeSearch(value) : `${key}${operator}${escapeValue(value).replace(/^~/, "\\~")}`;
    })
    .join(";");
}

/** A missing key is "": the server rejects it. */
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
