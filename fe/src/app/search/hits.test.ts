import { expect, it } from "vitest";

import type { Column, Table, ViewInfo } from "../../api/types";
import { VIEWS } from "../../generated/schema";
import { PLAIN_COLUMN, PLAIN_TABLE } from "../../lib/columns";
import { pageHits, rankOf, ranked, SEARCHED_TABLES, stepsHit, stepsTextOf, tableHits, timelineHit, trackHits } from "./hits";

const NAME: Column = { key: "name", title: "Name", type: "string", unit: null, help: "", ...PLAIN_COLUMN };

function table(...names: string[]): Table {
  return { title: "", help: "", columns: [NAME], rows: names.map((name) => [name]), row_count: names.length, null_reasons: {}, sort: "", ...PLAIN_TABLE };
}

function view(name: string): ViewInfo {
  return { name, title: name, help: "", scope: "trace", available: true, reason: null, group_bys: [], missing_group_bys: {}, };
}

const [OPERATORS, KERNELS] = SEARCHED_TABLES;

it("ranks an exact name first, then the end of a qualified one, a prefix, a word, and any part", () => {
  const names = ["aten::addmm", "xmmy", "mm_out", "aten::mm", "mm", "a_mm"];
  expect(names.toSorted((a, b) => rankOf(a, "mm") - rankOf(b, "mm"))).toEqual(["mm", "aten::mm", "mm_out", "a_mm", "aten::addmm", "xmmy"]);
  expect(rankOf("ATEN::MM", "aten::mm")).toBe(0);
});

it("leads to the best row of a table, and to all its rows", () => {
  if (OPERATORS === undefined) throw new Error("no table");
  const hits = tableHits(OPERATORS, table("aten::addmm", "aten::mm", "aten::mm_out"), "aten::mm");
  expect(hits.map(({ title }) => title)).toEqual(["aten::mm", "All 3 operators with “aten::mm”"]);
  expect(hits[0]?.goal).toEqual({ view: "operators", params: { table: "operators", "operators.filter": "name=aten::mm" } });
  expect(tableHits(OPERATORS, table(), "x")).toEqual([]);
});

it("puts an exact name of a later table before a part of an earlier one, and the timeline last", () => {
  if (OPERATORS === undefined || KERNELS === undefined) throw new Error("no table");
  const hits = ranked([timelineHit("gemm"), ...tableHits(OPERATORS, table("x_gemm_y"), "gemm"), ...tableHits(KERNELS, table("gemm"), "gemm")]);
  expect(hits.map(({ where }) => where)).toEqual(["Kernel", "Operator", "Every event"]);
});

it("finds pages by their titles, tabs and questions", () => {
  const views = [view("overview"), view("iterations"), view("phases"), view("idle")];
  expect(pageHits(views, "phas").map(({ title }) => title)).toEqual(["Steps: Phases"]);
  expect(pageHits(views, "wait").map(({ title }) => title)).toEqual(["Steps: Iterations", "Idle: Causes"]);
  expect(pageHits(views, "memory")).toEqual([]);
});

it("knows texts that mean steps", () => {
  for (const text of ["step 12", "Steps 3-5", "iteration 7", "3..5", "12", "last 3", "first", "3, 5:8", "ProfilerStep#4"]) expect(stepsTextOf(text), text).toBe(text);
  for (const text of ["conv2d", "step", "aten::mm", "lastname", "128x64"]) expect(stepsTextOf(text), text).toBeNull();
  expect(stepsHit("last 3", "8:10", "step").title).toBe("Select steps 8–10");
  expect(stepsHit("step 4", "4", "iteration").title).toBe("Select iteration 4");
});

it("leads to tracks of the timeline", () => {
  expect(trackHits(["Thread 7", "Stream 7", "Stream 20"], "stream 2").map(({ title }) => title)).toEqual(["Stream 20"]);
  expect(trackHits(["a"], "b")).toEqual([]);
});

it("asks for most time first where a table has another order, so that of equally good hits the heaviest is taken", () => {
  expect(SEARCHED_TABLES.flatMap(({ view: name, sort }) => (sort === undefined ? [] : [name]))).toEqual(["modules", "groups"]);
  for (const { view: name, table: tableName, sort } of SEARCHED_TABLES) {
    const tables: Readonly<Record<string, readonly string[]>> = Object.entries(VIEWS).find(([each]) => each === name)?.[1].tables ?? {};
    for (const key of sort?.split(",") ?? []) expect(tables[tableName]).toContain(key.replace(/^-/, ""));
  }
});
