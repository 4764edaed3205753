/** The grammar must mean the same here and on the server: both are held to the same vectors. */
import { expect, it } from "vitest";

import type { Column, Row } from "../api/types";
import vectors from "../../../tests/data/filter_grammar.json";
import { parseFilter, parseSort } from "./grammar";
import { compileFilter, compileSort, filterProblem, unknownColumns } from "./rowQuery";
import { PLAIN_COLUMN } from "./columns";

const COLUMNS = vectors.columns.map(({ key, type }): Column => ({ key, title: key, type: type as Column["type"], unit: null, help: "", ...PLAIN_COLUMN }));
const ROWS: readonly Row[] = vectors.table;

it.each(vectors.filters)("filter $text", ({ text, rows }) => {
  const clauses = parseFilter(text);
  expect(filterProblem(COLUMNS, clauses) === null, "whether it can be understood").toBe(rows !== undefined);
  if (rows === undefined) return;
  const passes = compileFilter(COLUMNS, clauses);
  expect(ROWS.flatMap((row, index) => (passes(row) ? [index] : []))).toEqual(rows);
});

it.each(vectors.sorts)("sort $text", ({ text, rows }) => {
  const keys = parseSort(text);
  expect(unknownColumns(COLUMNS, keys).length === 0, "whether it can be understood").toBe(rows !== undefined);
  if (rows === undefined) return;
  expect([...ROWS].sort(compileSort(COLUMNS, keys)).map((row) => ROWS.indexOf(row))).toEqual(rows);
});
