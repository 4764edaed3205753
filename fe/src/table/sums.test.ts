import { expect, it } from "vitest";

import type { Column, Row, Table } from "../api/types";
import { PLAIN_COLUMN } from "../lib/columns";
import { shareOf, shareText, sumsOf } from "./sums";

const column = (key: string, additive: boolean): Column => ({ key, title: key, type: "number", unit: "us", help: "", ...PLAIN_COLUMN, additive });
const ROWS: Row[] = [
  [4, 1, null],
  [6, 2, null],
  [null, 3, null],
];
const TABLE = { columns: [column("total_us", true), column("mean_us", false), column("unknown_us", true)], rows: ROWS } as unknown as Table;

it("sums additive columns, of the matching rows and of all", () => {
  expect(sumsOf(TABLE, ROWS.slice(1))).toEqual({
    total_us: { shown: 6, all: 10, shown_nulls: 1 },
    unknown_us: { shown: null, all: null, shown_nulls: 2 },
  });
  expect(sumsOf(TABLE, [])["total_us"]).toEqual({ shown: 0, all: 10, shown_nulls: 0 });
});

it("computes the share of the matching rows", () => {
  expect(shareOf({ shown: 6, all: 10, shown_nulls: 0 })).toBe(60);
  expect(shareOf({ shown: 6, all: 0, shown_nulls: 0 })).toBeNull();
  expect(shareOf({ shown: null, all: null, shown_nulls: 0 })).toBeNull();
  expect([60, 0, 0.01, 99.99, 100].map(shareText)).toEqual(["60.0 %", "0.0 %", "<0.1 %", ">99.9 %", "100.0 %"]);
});
