/** Cases: only the column that opens rows is wider than its text. */
import { expect, it } from "vitest";

import type { Column, Table } from "../api/types";
import { columnViews } from "./columnView";
import { PLAIN_COLUMN, PLAIN_TABLE } from "../lib/columns";

const column = (key: string, type: Column["type"]): Column => ({ key, title: key, type, unit: null, help: "", ...PLAIN_COLUMN });
const TEXT = "a sentence of some length";
const TABLE: Table = {
  title: "",
  help: "",
  columns: [column("place", "integer"), column("name", "string"), column("reason", "string")],
  rows: [[1, TEXT, TEXT]],
  row_count: 1,
  null_reasons: {},
  sort: "",
  ...PLAIN_TABLE,
};

it("gives the room of the opener to the first text only", () => {
  const [, name, reason] = columnViews(TABLE, true).map(({ idealWidth }) => idealWidth);
  expect((name ?? 0) - (reason ?? 0)).toBe(60);
  expect(columnViews(TABLE, false)[1]?.idealWidth).toBe(reason);
  expect(reason).toBeGreaterThanOrEqual(TEXT.length * 7);
});
