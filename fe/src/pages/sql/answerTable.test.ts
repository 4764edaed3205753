import { expect, it } from "vitest";

import type { View } from "../../api/types";
import { PLAIN_COLUMN, PLAIN_TABLE } from "../../lib/columns";
import { answerTable } from "./answerTable";

function view(...keys: string[]): View {
  const columns = keys.map((key) => ({ key, title: key, type: "integer" as const, unit: null, help: "", ...PLAIN_COLUMN }));
  return { tables: { answer: { title: "Answer", help: "", columns, rows: [], row_count: 0, null_reasons: { a: "Known." }, sort: "", ...PLAIN_TABLE } } } as unknown as View;
}

it("gives computed columns keys that filters and orders of the address can name, all different", () => {
  const table = answerTable(view("a", "round(avg(x), 2)", "round_avg_x_2", "count_star()", "1", "é", "-"));
  expect(table?.columns.map(({ key }) => key)).toEqual(["a", "round_avg_x_2", "round_avg_x_2_2", "count_star", "column_1", "column", "column_2"]);
  expect(table?.columns.map(({ title }) => title)).toEqual(["a", "round(avg(x), 2)", "round_avg_x_2", "count_star()", "1", "é", "-"]);
  expect(table?.null_reasons["a"]).toBe("Known.");
  expect(table?.null_reasons["count_star"]).toContain("Null");
});

it("keeps the reasons of the server, whatever the key becomes", () => {
  const answer = view("sum(x)", "y");
  const reasons = { "sum(x)": "Not recorded." };
  const table = answerTable({ ...answer, tables: { answer: { ...answer.tables["answer"], null_reasons: reasons } } } as View);
  expect(table?.null_reasons["sum_x"]).toBe("Not recorded.");
});

it("distinguishes columns of one title by their keys", () => {
  const answer = view("name", "name_2", "id");
  const columns = answer.tables["answer"]?.columns.map((column) => ({ ...column, title: column.key === "id" ? "Id" : "Name" }));
  const table = answerTable({ ...answer, tables: { answer: { ...answer.tables["answer"], columns } } } as View);
  expect(table?.columns.map(({ title }) => title)).toEqual(["name", "name_2", "Id"]);
});

it("has no table where the answer has none", () => {
  expect(answerTable({ tables: {} } as unknown as View)).toBeNull();
});
