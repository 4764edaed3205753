import { expect, test } from "vitest";

import type { Scalar, Table, View, ViewInfo } from "../api/types";
import { VIEWS } from "../generated/schema";
import { PLAIN_COLUMN, PLAIN_TABLE } from "../lib/columns";
import { nextQuestion, QUESTIONS } from "./nextQuestions";
import { pageOf } from "./pages";

const ALL = Object.keys(VIEWS).map((name) => ({ name, title: name, help: "", available: true, missing_group_bys: {} }) as unknown as ViewInfo);

function table(keys: readonly string[], rows: readonly (readonly Scalar[])[]): Table {
  return {
    title: "",
    help: "",
    columns: keys.map((key) => ({ key, title: key, type: "string", unit: null, help: "", ...PLAIN_COLUMN })),
    rows: rows.map((row) => [...row]),
    row_count: rows.length,
    null_reasons: {},
    sort: "",
    ...PLAIN_TABLE,
  };
}

function viewOf(view: string, tables: Record<string, Table>, groupBy: string | null = null): View {
  return { view, tables, series: {}, selection: { group_by: groupBy } } as unknown as View;
}

test("every question leads from a tab to a table and columns that exist", () => {
  const columnsOf = (view: string, name: string): readonly string[] => {
    const tables: Readonly<Record<string, readonly string[]>> = Object.entries(VIEWS).find(([each]) => each === view)?.[1].tables ?? {};
    return tables[name] ?? [];
  };
  for (const { from, tab, subject, to, filter, params = {} } of QUESTIONS) {
    const page = pageOf({ name: from, title: "", help: "" });
    if (tab !== undefined) expect(page.tabs.filter(({ view }) => view === from).map(({ id }) => id)).toContain(tab);
    if (subject !== undefined) expect(columnsOf(from, subject.table)).toEqual(expect.arrayContaining([subject.key, subject.by, subject.label ?? subject.key, subject.where?.[0] ?? subject.key]));
    if (filter !== undefined) expect(columnsOf(to, filter[0])).toContain(filter[1]);
    for (const [key, value] of Object.entries(params)) {
      const [name = "", part] = key.split(".");
      if (part === "sort") expect(columnsOf(to, name)).toContain(value.replace("-", ""));
      if (key === "tab") expect(pageOf({ name: to, title: "", help: "" }).tabs.map(({ id }) => id)).toContain(value);
    }
  }
});

test("is about the row with the most time, whatever the order, and keeps to operators", () => {
  const operators = table(["name", "kind", "device_self_us", "host_self_us"], [["small", "operator", 1, 9], ["a;b", "operator", 7, 1], ["graph", "call", 99, 0]]);
  expect(nextQuestion(viewOf("operators", { operators }), "name", ALL)).toEqual({
    text: "Which kernels does a;b launch?",
    view: "kernels",
    params: { group_by: "name+operator+launch", table: "kernels", "kernels.filter": "operator=a\\;b" },
  });
});

test("adds the rows of a name, and does not lead to the page that is shown", () => {
  const kernels = table(["name", "short_name", "operator", "total_us"], [["k", "k", "largest row", 5], ["l", "l", "most", 4], ["m", "m", "most", 3]]);
  expect(nextQuestion(viewOf("kernels", { kernels }, "name+operator+launch"), "kernels", ALL)?.text).toBe("Which lines of code call most, which launches the most kernel time?");
  const unlaunched = table(["name", "short_name", "operator", "total_us"], [["k", "k", null, 5]]);
  expect(nextQuestion(viewOf("kernels", { kernels: unlaunched }, "name+operator+launch"), "kernels", ALL)?.text).toBe("Why did the device wait?");
});

test("goes on elsewhere where the page that it leads to has no data, or names are none", () => {
  const operators = table(["name", "kind", "device_self_us", "host_self_us"], [["a", "operator", null, 9]]);
  const withoutKernels = ALL.filter(({ name }) => name !== "kernels");
  expect(nextQuestion(viewOf("operators", { operators }), "name", withoutKernels)?.text).toBe("Which lines of code call a?");
  const withoutStacks: ViewInfo[] = withoutKernels.map((info) => ({ ...info, missing_group_bys: Object.fromEntries(info.name === "operators" ? [["name+call_stack", "none"]] : []) }));
  expect(nextQuestion(viewOf("operators", { operators }), "name", withoutStacks)?.text).toBe("How fast could they be?");
  expect(nextQuestion(viewOf("operators", { operators }, "path"), "name", ALL)?.text).toBe("How fast could they be?");
  expect(nextQuestion(viewOf("operators", {}), "name", [])).toBeNull();
});

test("shows a name as text, and short", () => {
  const kernels = table(["name", "short_name", "operator", "total_us"], [["x".repeat(500), "y\u202e".repeat(100), null, 5]]);
  const text = nextQuestion(viewOf("kernels", { kernels }), "kernels", ALL)?.text ?? "";
  expect(text).toContain("⟨U+202E⟩");
  expect(text.length).toBeLessThan(120);
});

test("does not lead to a tab of the view that has no data", () => {
  const withoutSnapshot = ALL.filter(({ name }) => name !== "snapshot");
  const names = (count: number) => table(["name"], Array.from({ length: count }, () => ["x"]));
  const memory = (peaks: number) => viewOf("memory", { memory_stats: table(["name", "self_allocation_bytes"], [["aten::empty", 5]]), peak_composition: names(peaks) });
  expect(nextQuestion(memory(1), "over_time", withoutSnapshot)?.params).toEqual({ tab: "peak" });
  expect(nextQuestion(memory(0), "over_time", withoutSnapshot)?.view).toBe("operators");
});

test("a recording of memory alone leads from the overview to its snapshot, and from its memory too", () => {
  const ofSnapshot = ALL.filter(({ name }) => ["overview", "memory", "snapshot"].includes(name));
  expect(nextQuestion(viewOf("overview", {}), "overview", ofSnapshot)?.view).toBe("snapshot");
  expect(nextQuestion(viewOf("memory", {}), "over_time", ofSnapshot)?.view).toBe("snapshot");
});
