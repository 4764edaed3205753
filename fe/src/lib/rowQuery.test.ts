/** The grammar must mean the same here and on the server: both are held to the same vectors. */
import { expect, it } from "vitest";

import vectors from "../../../tests/data/filter_grammar.json";
import type { Column, Row } from "../api/types";
import { PLAIN_COLUMN } from "./columns";
import { formatFilter, isExpression, parseFilter, parseSort } from "./grammar";
import { compileFilter, compileSort, filterProblem, unknownColumns } from "./rowQuery";

const COLUMNS = vectors.columns.map(({ key, type }): Column => ({ key, title: key, type: type as Column["type"], unit: null, help: "", ...PLAIN_COLUMN }));
const ROWS: readonly Row[] = vectors.table;

it.each(vectors.filters)("filter $text", ({ text, rows }) => {
  const clauses = parseFilter(text);
  expect(filterProblem(COLUMNS, clauses) === null, "whether it can be understood").toBe(rows !== undefined);
  if (rows === undefined) return;
  const passes = compileFilter(COLUMNS, clauses);
  expect(ROWS.flatMap((row, index) => (passes(row) ? [index] : []))).toEqual(rows);
});

it.each(vectors.expressions)("reads the expression $text", ({ text, clauses }) => {
  const parsed = parseFilter(text);
  expect(parsed.map(({ key, operator, value }) => [key, operator, value])).toEqual(clauses);
  expect(parseFilter(formatFilter(parsed))).toEqual(parsed);
});

it("leaves expressions to the server", () => {
  const hostile = parseFilter("name=~/^(a|aa)+$/");
  expect(hostile.every(isExpression)).toBe(true);
  expect(compileFilter(COLUMNS, hostile)(["a".repeat(40), null, 1, 1, true])).toBe(false);
});

it("searches text without a key in the shown columns, and in every name of a kernel", () => {
  const column = (key: string, hidden: boolean): Column => ({ key, title: key, type: "string", unit: null, help: "", ...PLAIN_COLUMN, hidden });
  const columns = [column("name", false), column("type", true), column("short_name", true)];
  const passes = (text: string) => compileFilter(columns, parseFilter(text))(["aten::resize_", "convolution", "resize"]);
  expect(["aten", "conv", "type~conv", "resize"].map(passes)).toEqual([true, false, true, true]);
});

it("searches text in every name of a kernel", () => {
  const keys = ["name", "short_name", "demangled_name"];
  const columns = keys.map((key): Column => ({ key, title: key, type: "string", unit: null, help: "", ...PLAIN_COLUMN }));
  const row = ["_Z1f", "add<FunctorOnly>", "void add<>(int)"];
  const passes = (text: string) => compileFilter(columns, parseFilter(text))(row);
  expect(["name~FunctorOn", "name~void", "name~_z1f", "name!~void", "name=add<FunctorOnly>", "short_name~void"].map(passes)).toEqual([true, true, true, false, false, false]);
});

it.each(vectors.sorts)("sort $text", ({ text, rows }) => {
  const keys = parseSort(text);
  expect(unknownColumns(COLUMNS, keys).length === 0, "whether it can be understood").toBe(rows !== undefined);
  if (rows === undefined) return;
  expect([...ROWS].sort(compileSort(COLUMNS, keys)).map((row) => ROWS.indexOf(row))).toEqual(rows);
});
