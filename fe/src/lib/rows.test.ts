import { expect, it } from "vitest";

import type { Table } from "../api/types";
import { PLAIN_COLUMN, PLAIN_TABLE } from "./columns";
import { allOfKind } from "./rows";

it("detects rows that are all of one kind", () => {
  const table = (key: string, ...kinds: string[]): Table => ({
    title: "",
    help: "",
    columns: [{ key, title: key, type: "string", unit: null, help: "", ...PLAIN_COLUMN }],
    rows: kinds.map((kind) => [kind]),
    row_count: kinds.length,
    null_reasons: {},
    sort: "",
    ...PLAIN_TABLE,
  });
  expect(allOfKind(table("kind", "operator", "operator"), "operator")).toBe(true);
  expect(allOfKind(table("kind", "operator", "call"), "operator")).toBe(false);
  expect(allOfKind(table("name", "operator"), "operator"), "older answers have no such column").toBe(false);
});
