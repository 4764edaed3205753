import { expect, it } from "vitest";

import type { Table } from "../api/types";
import { PLAIN_COLUMN, PLAIN_TABLE } from "../lib/columns";
import { outcomesText } from "./outcomes";

const table = (...outcomes: string[]): Table => ({
  title: "",
  help: "",
  columns: [{ key: "outcome", title: "Outcome", type: "string", unit: null, help: "", ...PLAIN_COLUMN }],
  rows: outcomes.map((outcome) => [outcome]),
  row_count: outcomes.length,
  null_reasons: {},
  sort: "",
  ...PLAIN_TABLE,
});

it("counts each outcome, in the order in which they come", () => {
  expect(outcomesText(table("found", "cannot be told", "nothing found", "nothing found"))).toBe("4 checks: 1 found, 1 cannot be told, 2 nothing found.");
  expect(outcomesText(table("found"))).toBe("1 check: 1 found.");
});
