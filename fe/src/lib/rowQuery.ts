/**
 * Evaluates filters and sort keys on a table whose rows are all loaded, exactly as the server does
 * (`views/querying.py`); `tests/data/filter_grammar.json` tests both.
 */
import type { Column, Row, Scalar } from "../api/types";
import { isExpression, type Clause, type Operator, type SortKey } from "./grammar";
import { DEMANGLED_KEY, NAME_KEY, SHORT_KEY } from "./names";

const NULL_VALUE = "-";
const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ["yes", true],
  ["true", true],
  ["no", false],
  ["false", false],
]);
/** Decimal, optionally with an exponent and single underscores between digits; infinity is allowed. */
const NUMBER = /^[+-]?(?:(?:\d+(?:_\d+)*\.?(?:\d+(?:_\d+)*)?|\.\d+(?:_\d+)*)(?:e[+-]?\d+(?:_\d+)*)?|inf(?:inity)?)$/i;

/** Columns named by clauses or sort keys that do not exist. */
export function unknownColumns(columns: readonly Column[], named: readonly { readonly key: string | null }[]): string[] {
  const keys = named.flatMap(({ key }) => (key === null || columns.some((column) => column.key === key) ? [] : [key]));
  return [...new Set(keys)];
}

/** Why the server would reject these clauses; null when it would not. */
export function filterProblem(columns: readonly Column[], clauses: readonly Clause[]): string | null {
  for (const clause of clauses) {
    const problem = clauseProblem(columns, clause);
    if (problem !== null) return problem;
  }
  return null;
}

function clauseProblem(columns: readonly Column[], clause: Clause): string | null {
  const { key, operator, value } = clause;
  if (key === null) return columns.some(({ type }) => type === "string") ? null : `“${value}” names no column, and this table has no text column`;
  const column = columns.find((each) => each.key === key);
  if (column === undefined) return `this table has no column “${key}”`;
  const isEquality = operator === "=" || operator === "!=";
  if (column.type === "string" || (value === NULL_VALUE && isEquality)) return null;
  if (operator === "~" || operator === "!~" || isExpression(clause)) return `${key} is not a text column; compare it with = != > >= < or <=`;
  if (column.type === "boolean") return isEquality && BOOLEANS.has(value.toLowerCase()) ? null : `${key} is yes or no; write ${key}=yes`;
  return NUMBER.test(value) ? null : `${key} is a number; “${value}” is not`;
}

type Test = (row: Row) => boolean;

/**
 * One predicate for all clauses; clauses that {@link filterProblem} reports pass nothing or everything. Regular
 * expressions pass nothing: the server matches them, in bounded time and with one syntax.
 */
export function compileFilter(columns: readonly Column[], clauses: readonly Clause[]): Test {
  const tests = clauses.map((clause) => clauseTest(columns, clause));
  return (row) => tests.every((test) => test(row));
}

function clauseTest(columns: readonly Column[], clause: Clause): Test {
  const { key, operator, value } = clause;
  if (isExpression(clause)) return () => false;
  if (key === null) return searchTest(searchedKeys(columns), columns, value);
  const index = columns.findIndex((column) => column.key === key);
  const column = columns[index];
  if (column === undefined) return () => true;
  if (value === NULL_VALUE && operator === "=") return (row) => row[index] === null;
  if (value === NULL_VALUE && operator === "!=") return (row) => row[index] !== null;
  if (operator === "!=" || operator === "!~") {
    const same = clauseTest(columns, { key, operator: operator === "!=" ? "=" : "~", value });
    return (row) => !same(row);
  }
  if (operator === "~" && column.type === "string") return searchTest(namesOf(key), columns, value);
  const compare = comparison(column, operator, value);
  return (row) => {
    const cell = row[index] ?? null;
    return cell !== null && compare(cell);
  };
}

/** A search in the name of a kernel covers its other names too. */
function namesOf(key: string): readonly string[] {
  return key === NAME_KEY ? [NAME_KEY, SHORT_KEY, DEMANGLED_KEY] : [key];
}

/** The columns that a text without a key searches; not hidden ones, whose matches nobody could see. */
function searchedKeys(columns: readonly Column[]): readonly string[] {
  const names = [SHORT_KEY, DEMANGLED_KEY];
  return columns.filter(({ type, hidden, key }) => type === "string" && (!hidden || names.includes(key))).map(({ key }) => key);
}

function searchTest(keys: readonly string[], columns: readonly Column[], value: string): Test {
  const wanted = value.toLowerCase();
  const indexes = columns.flatMap((column, index) => (keys.includes(column.key) ? [index] : []));
  return (row) =>
    indexes.some((index) => {
      const cell = row[index];
      return typeof cell === "string" && cell.toLowerCase().includes(wanted);
    });
}

function comparison(
  column: Column,
  operator: Operator,
  value: string,
): (cell: Exclude<Scalar, null>) => boolean {
  if (column.type === "boolean") {
    const wanted = BOOLEANS.get(value.toLowerCase());
    return (cell) => cell === wanted;
  }
  if (column.type === "string") {
    const wanted = value.toLowerCase();
    return (cell) => isOrdered(compareTexts(String(cell).toLowerCase(), wanted), operator);
  }
  if (!NUMBER.test(value) || operator === "~") return () => false;
  const wanted = numberOf(value);
  return (cell) => isOrdered(Number(cell) - wanted, operator);
}

function numberOf(text: string): number {
  return Number(text.replaceAll("_", "").replace(/inf(inity)?$/i, "Infinity"));
}

/** @param order Sign of cell − value. */
function isOrdered(order: number, operator: Operator): boolean {
  switch (operator) {
    case ">":
      return order > 0;
    case ">=":
      return order >= 0;
    case "<":
      return order < 0;
    case "<=":
      return order <= 0;
    default:
      return order === 0;
  }
}

/** By code points; JavaScript compares UTF-16 units, where characters beyond U+FFFF precede U+E000. */
function compareTexts(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index++) {
    const [a, b] = [left.charCodeAt(index), right.charCodeAt(index)];
    if (a !== b) return rankOf(a) - rankOf(b);
  }
  return left.length - right.length;
}

function rankOf(unit: number): number {
  return unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit;
}

/** A comparison of rows by `keys`; nulls come last in either direction, as on the server. */
export function compileSort(
  columns: readonly Column[],
  keys: readonly SortKey[],
): (left: Row, right: Row) => number {
  const sortColumns = keys.flatMap(({ key, descending }) => {
    const index = columns.findIndex((column) => column.key === key);
    return index < 0 ? [] : [{ index, sign: descending ? -1 : 1 }];
  });
  return (left, right) => {
    for (const { index, sign } of sortColumns) {
      const order = compareCells(left[index] ?? null, right[index] ?? null, sign);
      if (order !== 0) return order;
    }
    return 0;
  };
}

function compareCells(left: Scalar, right: Scalar, sign: number): number {
  if (left === null || right === null) return left === right ? 0 : left === null ? 1 : -1;
  if (typeof left === "string" && typeof right === "string") {
    return compareTexts(left.toLowerCase(), right.toLowerCase()) * sign;
  }
  return (Number(left) - Number(right)) * sign;
}
