import { expect, it } from "vitest";

import type { Column, Table } from "../api/types";
import { PLAIN_COLUMN, PLAIN_TABLE } from "../lib/columns";
import { formatSort, parseSort } from "../lib/grammar";
import { columnViews } from "./columnView";
import { nextSort } from "./HeaderRow";

const column = (key: string, type: Column["type"]): Column => ({ key, title: key, type, unit: null, help: "", ...PLAIN_COLUMN });
const TABLE: Table = {
  title: "",
  help: "",
  columns: [column("name", "string"), column("calls", "integer")],
  rows: [],
  row_count: 0,
  null_reasons: {},
  sort: "",
  ...PLAIN_TABLE,
};

/** The order after a click on the header of `key`. */
function clicked(sort: string, key: string, shift = false): string {
  const view = columnViews(TABLE, false).find((each) => each.column.key === key);
  if (view === undefined) throw new Error(key);
  return formatSort(nextSort(parseSort(sort), view, shift));
}

it("first sorts numbers descending and texts ascending", () => {
  expect(clicked("-other", "calls")).toBe("-calls");
  expect(clicked("-other", "name")).toBe("name");
});

it("reverses the current sort", () => {
  expect(clicked("-calls", "calls")).toBe("calls");
  expect(clicked("name", "name")).toBe("-name");
});

it("adds a column with Shift, and reverses it in place", () => {
  expect(clicked("-calls", "name", true)).toBe("-calls,name");
  expect(clicked("-calls,name", "calls", true)).toBe("calls,name");
});
