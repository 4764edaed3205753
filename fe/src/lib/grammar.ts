/**
 * The sort and filter grammar of the server (`docs/architecture.md`), read, written and applied here
 * too, so that a table that is wholly loaded filters without asking again, and one that is not can ask.
 *
 *     parseFilter("name~gemm;calls>=10;conv")
 */
import type { Column, Row, Scalar } from "../api/types";

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

const CLAUSE = /^\s*([A-Za-z_][A-Za-z0-9_]*)\s*(!~|!=|>=|<=|~|=|>|<)([^]*)$/;
const CLAUSES = /((?:\\[^]|[^;\\]|\\$)*)(?:;|$)/g;
const ESCAPED = /\\([;\\~!=<>])/g;
const NULL_VALUE = "-";

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
    if (part.trim() === "") continue;
    const match = CLAUSE.exec(part);
    const unescape = (raw: string) => raw.replace(ESCAPED, "$1").trim();
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

export function parseSort(text: string): SortKey[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part.replace(/^-/, "") !== "")
    .map((part) => ({ key: part.replace(/^-/, ""), descending: part.startsWith("-") }));
}

export function formatSort(keys: readonly SortKey[]): string {
  return keys.map(({ key, descending }) => (descending ? `-${key}` : key)).join(",");
}

/** Columns the clauses name that are not there. */
export function unknownColumns(columns: readonly Column[], clauses: readonly Clause[]): string[] {
  const keys = clauses.flatMap(({ key }) => (key === null || columns.some((column) => column.key === key) ? [] : [key]));
  return [...new Set(keys)];
}

type Test = (row: Row) => boolean;

/** One test for all clauses; a clause for a column that is not there passes nothing by accident: it is left out. */
export function compileFilter(columns: readonly Column[], clauses: readonly Clause[]): Test {
  const tests = clauses.map((clause) => clauseTest(columns, clause));
  return (row) => tests.every((test) => test(row));
}

function clauseTest(columns: readonly Column[], { key, operator, value }: Clause): Test {
  if (key === null) return searchTest(columns, value);
  const index = columns.findIndex((column) => column.key === key);
  const column = columns[index];
  if (column === undefined) return () => true;
  if (value === NULL_VALUE && operator === "=") return (row) => row[index] === null;
  if (value === NULL_VALUE && operator === "!=") return (row) => row[index] !== null;
  if (operator === "!=" || operator === "!~") {
    const same = clauseTest(columns, { key, operator: operator === "!=" ? "=" : "~", value });
    return (row) => !same(row);
  }
  const compare = comparison(column, operator, value);
  return (row) => {
    const cell = row[index] ?? null;
    return cell !== null && compare(cell);
  };
}

function searchTest(columns: readonly Column[], value: string): Test {
  const wanted = value.toLowerCase();
  const indexes = columns.flatMap((column, index) => (column.type === "string" ? [index] : []));
  return (row) =>
    indexes.some((index) => {
      const cell = row[index];
      return typeof cell === "string" && cell.toLowerCase().includes(wanted);
    });
}

function comparison(
  column: Column,
  operator: Exclude<Operator, "!=" | "!~">,
  value: string,
): (cell: Exclude<Scalar, null>) => boolean {
  if (column.type === "boolean") {
    const wanted = /^(yes|true)$/i.test(value);
    return (cell) => cell === wanted;
  }
  if (column.type === "string") {
    const wanted = value.toLowerCase();
    if (operator === "~") return (cell) => String(cell).toLowerCase().includes(wanted);
    return (cell) => ordered(String(cell).toLowerCase(), operator, wanted);
  }
  const wanted = Number(value);
  if (Number.isNaN(wanted) || operator === "~") return () => false;
  return (cell) => ordered(Number(cell), operator, wanted);
}

function ordered<T extends string | number>(left: T, operator: Operator, right: T): boolean {
  switch (operator) {
    case ">":
      return left > right;
    case ">=":
      return left >= right;
    case "<":
      return left < right;
    case "<=":
      return left <= right;
    default:
      return left === right;
  }
}

/** Orders two rows by `keys`; nulls come last in either direction, as on the server. */
export function compileSort(
  columns: readonly Column[],
  keys: readonly SortKey[],
): (left: Row, right: Row) => number {
  const places = keys.flatMap(({ key, descending }) => {
    const index = columns.findIndex((column) => column.key === key);
    return index < 0 ? [] : [{ index, sign: descending ? -1 : 1 }];
  });
  return (left, right) => {
    for (const { index, sign } of places) {
      const order = compareCells(left[index] ?? null, right[index] ?? null, sign);
      if (order !== 0) return order;
    }
    return 0;
  };
}

function compareCells(left: Scalar, right: Scalar, sign: number): number {
  if (left === null || right === null) return left === right ? 0 : left === null ? 1 : -1;
  if (typeof left === "string" && typeof right === "string") {
    const a = left.toLowerCase();
    const b = right.toLowerCase();
    return a === b ? 0 : a < b ? -sign : sign;
  }
  return (Number(left) - Number(right)) * sign;
}
