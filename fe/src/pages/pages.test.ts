import { expect, test } from "vitest";

import type { Table, View, ViewInfo } from "../api/types";
import { VIEWS } from "../generated/schema";
import { availableTabs, currentTab, hasData, leadingTab, missingReason, pageOf, pagesOf, showsAnswer, tabParams, type PageTab } from "./pages";

const views = (...names: string[]) => names.map((name) => ({ name, title: name, help: "", available: true, missing_group_bys: {} }) as unknown as ViewInfo);
const [kernels, snapshot, operators, efficiency, memory, resources] = views("kernels", "snapshot", "operators", "efficiency", "memory", "resources");
const idOf = (info: ViewInfo | undefined, params: Record<string, string>, view: View | null = null) => currentTab(pageOf(info as ViewInfo), (info as ViewInfo).name, params, view)?.id;

const answer = (rows: Record<string, number>, series: Record<string, number> = {}): View =>
  ({
    tables: Object.fromEntries(Object.entries(rows).map(([name, count]) => [name, { row_count: count } as unknown as Table])),
    series: Object.fromEntries(Object.entries(series).map(([name, count]) => [name, { lines: Array.from({ length: count }) }])),
  }) as unknown as View;

test("eleven pages show every view once, but the one of the terminal", () => {
  const all = [...Object.keys(VIEWS).filter((name) => name !== "summary"), "timeline"];
  const pages = pagesOf(views(...all));
  expect(pages.map(({ title }) => title)).toEqual(["Overview", "Timeline", "Steps", "Operators", "Kernels", "Idle", "Efficiency", "Memory", "Distributed", "Host & Data", "Compare"]);
  const shown = new Set(pages.flatMap(({ tabs }) => tabs.map(({ view }) => view)));
  expect([...shown].sort()).toEqual([...all].sort());
});

test("the back end, whose titles reports and errors show, calls views as the pages and tabs do", () => {
  for (const [name, { title }] of Object.entries(VIEWS)) {
    if (name === "summary") continue;
    const page = pageOf({ name, title, help: "" });
    const tabs = page.tabs.filter(({ view }) => view === name);
    const titles = tabs.map((tab) => tab.title);
    // A view in parts, or the tab that is called as its page, stands for the page.
    const isPage = page.tabs.indexOf(tabs[0] as PageTab) === 0 && (tabs.length > 1 || page.tabs.length === 1 || titles[0] === page.title);
    expect(title).toBe(isPage ? page.title : `${page.title}: ${titles.join(", ")}`);
  }
});

test("tables of a part belong to the view, and no table to two parts that the grouping does not tell apart", () => {
  for (const { tabs } of pagesOf(views(...Object.keys(VIEWS)))) {
    for (const tab of tabs) {
      const declared = Object.entries(VIEWS).find(([name]) => name === tab.view)?.[1].tables ?? {};
      for (const table of tab.tables ?? []) {
        expect(Object.keys(declared)).toContain(table);
        const others = tabs.filter((each) => each !== tab && each.view === tab.view && each.tables?.includes(table) === true);
        expect(others.every(({ groupBys }) => groupBys !== undefined && tab.groupBys !== undefined)).toBe(true);
      }
    }
  }
});

test("a view that no page lists is a page of its own, at the end", () => {
  const [planted] = views("planted");
  expect(pageOf(planted as ViewInfo).title).toBe("planted");
  expect(pagesOf(views("planted", "kernels", "compare")).map(({ title }) => title)).toEqual(["Kernels", "Compare", "planted"]);
});

test("the address of a view leads to its tab", () => {
  expect(idOf(snapshot, {})).toBe("snapshot");
  expect(idOf(kernels, {})).toBe("kernels");
  expect(idOf(kernels, { tab: "api_calls" })).toBe("api_calls");
  // A table that a link names.
  expect(idOf(kernels, { table: "api_calls" })).toBe("api_calls");
  expect(idOf(memory, { table: "memory_peaks" })).toBe("peak");
  // A grouping.
  expect(idOf(operators, { group_by: "name+input_shape" })).toBe("name");
  expect(idOf(operators, { group_by: "name+call_stack" })).toBe("call_stack");
  expect(idOf(efficiency, { table: "operators", group_by: "operator+input_shape" })).toBe("shapes");
  expect(idOf(efficiency, { table: "operators" })).toBe("operators");
  // An address from elsewhere.
  expect(idOf(kernels, { tab: "unknown", table: "unknown" })).toBe("kernels");
});

test("without a named tab, the first with data is shown", () => {
  expect(idOf(efficiency, {}, answer({ operators: 3 }, { roofline: 1 }))).toBe("roofline");
  expect(idOf(efficiency, {}, answer({ operators: 3, roofline_points: 0 }))).toBe("operators");
  expect(idOf(efficiency, { tab: "roofline" }, answer({ operators: 3 }))).toBe("roofline");
  expect(idOf(kernels, {}, answer({}))).toBe("kernels");
});

test("a tab whose grouping has nothing to group by is left out", () => {
  const info = { ...(operators as ViewInfo), missing_group_bys: { "name+call_stack": "No stacks.", "name+input_shape+call_stack": "No stacks." } };
  const page = pageOf(info);
  expect(availableTabs(page, [info]).map(({ id }) => id)).toEqual(["name"]);
  expect(page.tabs.map((tab) => missingReason(tab, [info]))).toContain("No stacks.");
});

test("a tab's link leads back to it", () => {
  const all = views(...Object.keys(VIEWS));
  for (const page of pagesOf(all)) {
    for (const tab of availableTabs(page, all)) expect(currentTab(page, tab.view, tabParams(tab), null)?.id).toBe(tab.id);
  }
});

test("peaks that are not known are no data", () => {
  const page = pageOf(memory as ViewInfo);
  const peak = (bytes: number | null) => {
    const peaks = { row_count: 1, columns: [{ key: "device" }, { key: "peak_allocated_bytes" }], rows: [["GPU 0", bytes]] } as unknown as Table;
    return { ...answer({ memory_stats: 5 }), tables: { ...answer({ memory_stats: 5 }).tables, memory_peaks: peaks } };
  };
  expect(page.tabs.map((tab) => tab.view === "memory" && hasData(tab, peak(null)))).toEqual([false, false, true, false]);
  expect(idOf(memory, {}, peak(null))).toBe("allocations");
  expect(idOf(memory, {}, peak(7))).toBe("peak");
});

test("a page opens with the tab that the recording is about", () => {
  const all = views("memory", "snapshot", "kernels");
  expect(leadingTab(pageOf(memory as ViewInfo), all, "snapshot")?.id).toBe("snapshot");
  expect(leadingTab(pageOf(memory as ViewInfo), all, "overview")?.id).toBe("over_time");
});

test("an answer is not repeated over a tab that it is not about, nor over an empty one", () => {
  const shown = (info: ViewInfo | undefined, view: View) => {
    const page = pageOf(info as ViewInfo);
    return page.tabs.filter((tab) => tab.view === (info as ViewInfo).name && showsAnswer(tab, page, view)).map(({ id }) => id);
  };
  expect(shown(kernels, answer({ kernels: 2, api_calls: 3 }))).toEqual(["kernels"]);
  expect(shown(kernels, answer({ kernels: 0, api_calls: 3 }))).toEqual(["api_calls"]);
  expect(shown(resources, answer({}, { host_pct: 1, devices_pct: 1 }))).toEqual(["host"]);
  expect(shown(resources, answer({}, { devices_pct: 1 }))).toEqual(["counters"]);
});
