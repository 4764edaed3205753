import { expect, it } from "vitest";

import type { Table } from "../api/types";
import { PLAIN_COLUMN, PLAIN_TABLE } from "../lib/columns";
import { outcomesText } from "./Checks";

const table = (...outcomes: string[]): Table => ({
  title: "",
  help: "",
  columns: ["code", "outcome"].map((key) => ({ key, title: key, type: "string", unit: null, help: "", ...PLAIN_COLUMN })),
  rows: outcomes.map((outcome, index) => [`check${index}`, outcome]),
  row_count: outcomes.length,
  null_reasons: {},
  sort: "",
  ...PLAIN_TABLE,
});

it("counts issues, passed checks and checks without enough data", () => {
  expect(outcomesText(table("issue", "not enough data", "passed", "passed"), ["check0"])).toBe("Checks: 1 issue, 2 passed, 1 needs data this recording lacks.");
  expect(outcomesText(table("issue", "issue", "not enough data", "not enough data"), ["check0", "check1"])).toBe("Checks: 2 issues, 2 need data this recording lacks.");
});

it("separates issues from findings where some are listed with others", () => {
  expect(outcomesText(table("issue", "issue", "issue", "passed"), ["check2", "check0"])).toBe("Checks: 3 issues in 2 findings, 1 passed.");
  expect(outcomesText(table("issue", "issue"), ["check1"])).toBe("Checks: 2 issues in 1 finding.");
  // One that only says where the time goes is no issue.
  expect(outcomesText(table("issue"), ["where_time_goes", "check0"])).toBe("Checks: 1 issue.");
});
