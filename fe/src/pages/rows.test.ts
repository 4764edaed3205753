import { expect, it } from "vitest";

import type { Table } from "../api/types";
import { allOfKind, barsByKind } from "./rows";
import { PLAIN_COLUMN, PLAIN_TABLE } from "../lib/columns";

it("gives every bar the line of its kind", () => {
  const top = [["a"], ["b"], ["c"]].map((row, index) => ({ row, value: index + 1 }));
  expect(barsByKind(top, (row) => (row[0] === "b" ? "Communication" : "Kernel"))).toEqual([
    { name: "Kernel", values: [1, 0, 3] },
    { name: "Communication", values: [0, 2, 0] },
  ]);
});

it("knows rows that are all of one kind", () => {
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
