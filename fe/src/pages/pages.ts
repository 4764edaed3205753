/** The pages, in the order of the rail: their titles, questions and tabs. A tab is a view of the back end, or a part of one. */
import type { Table, View, ViewInfo } from "../api/types";
import { cellOf, hasColumn } from "../lib/rows";
import type { Params } from "../state/address";

export interface PageTab {
  /** Within the page; in the address (`tab=`) for a part of a view. */
  readonly id: string;
  readonly title: string;
  readonly view: string;
  /** The tables and charts of a part of a view. A link that names one of the tables opens this tab. */
  readonly tables?: readonly string[];
  readonly series?: readonly string[];
  /** The groupings that it shows, the first by default; every other grouping belongs to other tabs of the view. */
  readonly groupBys?: readonly string[];
  /** Columns of a table without any of which its rows are no data, such as devices whose peaks are unknown. */
  readonly needs?: Readonly<Record<string, readonly string[]>>;
  /** The answer of the view is about an earlier tab of it: it is shown here only where that one has no data. */
  readonly repeatsAnswer?: boolean;
}

export interface Page {
  readonly id: string;
  readonly title: string;
  readonly question: string;
  readonly tabs: readonly PageTab[];
}

/** The page of queries in SQL, which is no view: it stands after the others. */
export const SQL_PAGE = "sql";

function whole(view: string, title: string): PageTab {
  return { id: view, title, view };
}

const PAGES: readonly Page[] = [
  { id: "overview", title: "Overview", question: "What is slow, and what do I do?", tabs: [whole("overview", "Overview")] },
  { id: "timeline", title: "Timeline", question: "What happened when?", tabs: [whole("timeline", "Timeline")] },
  {
    id: "steps",
    title: "Steps",
    question: "Which steps, and what is each waiting for?",
    tabs: [whole("iterations", "Iterations"), whole("phases", "Phases"), whole("critical_path", "Critical path")],
  },
  {
    id: "operators",
    title: "Operators",
    question: "Which code costs the most?",
    tabs: [
      { id: "name", title: "Name", view: "operators", groupBys: ["name", "name+input_shape", "path"] },
      whole("operator_types", "Type"),
      whole("modules", "Module"),
      whole("groups", "Range"),
      { id: "call_stack", title: "Call stack", view: "operators", groupBys: ["name+call_stack", "name+input_shape+call_stack"] },
      whole("shapes", "Shape"),
    ],
  },
  {
    id: "kernels",
    title: "Kernels",
    question: "What ran on the device, and who launched it?",
    tabs: [
      { id: "kernels", title: "Kernels", view: "kernels", tables: ["kernels", "tensor_core_time", "kernel_types", "copies", "unrecognized"] },
      whole("copies", "Copies"),
      whole("compiled", "Graphs & compile"),
      whole("sequences", "Sequences"),
      { id: "api_calls", title: "API calls", view: "kernels", tables: ["api_calls"], repeatsAnswer: true },
    ],
  },
  {
    id: "idle",
    title: "Idle",
    question: "Why did the device wait?",
    tabs: [
      { id: "causes", title: "Causes", view: "idle", tables: ["causes"] },
      { id: "gaps", title: "Gaps", view: "idle", tables: ["gaps"] },
      { id: "launches", title: "Launches", view: "idle", tables: ["launch_delays", "streams"] },
    ],
  },
  {
    id: "efficiency",
    title: "Efficiency",
    question: "How fast could it be?",
    tabs: [
      { id: "roofline", title: "Roofline", view: "efficiency", tables: ["roofline_points"], series: ["roofline"] },
      {
        id: "operators",
        title: "Operators",
        view: "efficiency",
        tables: ["operators", "recorded_flops", "recorded_operators", "recorded_scopes"],
        groupBys: ["operator", "module", "type", "step"],
      },
      { id: "shapes", title: "Shapes", view: "efficiency", tables: ["operators"], groupBys: ["operator+input_shape"] },
    ],
  },
  {
    id: "memory",
    title: "Memory",
    question: "What fills memory, and what to shrink?",
    tabs: [
      { id: "over_time", title: "Over time", view: "memory", tables: ["alive", "memory_tensors", "memory_operators"], series: ["memory_curve", "memory_by_category", "memory_of_operators", "memory_totals"] },
      {
        id: "peak",
        title: "Peak",
        view: "memory",
        tables: ["peak_composition", "peak_categories", "memory_peaks"],
        needs: { memory_peaks: ["peak_allocated_bytes", "recorded_peak_allocated_bytes"] },
      },
      { id: "allocations", title: "Allocations", view: "memory", tables: ["memory_stats", "held", "memory_events"] },
      whole("snapshot", "Snapshot"),
    ],
  },
  {
    id: "distributed",
    title: "Distributed",
    question: "Who holds whom up?",
    tabs: [
      // Its id distinguishes it from the part of `distributed` below, whose id is that of former addresses.
      { id: "all_ranks", title: "Ranks", view: "ranks" },
      { id: "ranks", title: "Overlap & wait", view: "distributed", tables: ["overlap", "wait", "stragglers", "devices", "cluster_steps", "node_map", "node_links"] },
      { id: "collectives", title: "Collectives", view: "distributed", tables: ["collectives", "unmatched", "recorded_collectives", "links"] },
      whole("strategy", "Strategy"),
      whole("experts", "Experts"),
      whole("roles", "Roles"),
      whole("hang", "Hang"),
    ],
  },
  {
    id: "host",
    title: "Host & Data",
    question: "Is the machine around the device fast enough?",
    tabs: [
      whole("data", "Data loading"),
      { id: "host", title: "Host", view: "resources", series: ["host_", "process_"] },
      { id: "counters", title: "Counters", view: "resources", series: ["devices_"], repeatsAnswer: true },
    ],
  },
  {
    id: "compare",
    title: "Compare",
    question: "What changed, and is it real?",
    tabs: [
      { id: "verdict", title: "Verdict", view: "compare", tables: ["average_step", "surroundings", "explained", "drill_down", "throughput"] },
      { id: "steps", title: "Steps", view: "compare", tables: ["steps", "phases"] },
      { id: "operators", title: "Operators", view: "compare", tables: ["operators", "modules"] },
      { id: "kernels", title: "Kernels", view: "compare", tables: ["kernels"] },
      { id: "memory", title: "Memory", view: "compare", tables: ["memory", "memory_parts"] },
    ],
  },
];

/** The page that shows a view. A view of none of them, such as a plugin's, is a page of its own. */
export function pageOf({ name, title, help }: Pick<ViewInfo, "name" | "title" | "help">): Page {
  return PAGES.find(({ tabs }) => tabs.some(({ view }) => view === name)) ?? { id: name, title, question: help, tabs: [whole(name, title)] };
}

/** All pages, then those of views that no page lists. */
export function pagesOf(views: readonly ViewInfo[]): Page[] {
  const others = views.map(pageOf).filter(({ id }) => !PAGES.some((page) => page.id === id));
  const known = new Set(views.map(({ name }) => name));
  return [...PAGES.filter(({ tabs }) => tabs.some(({ view }) => known.has(view))), ...others];
}

/** The tabs whose views, and groupings, have data. */
export function availableTabs({ tabs }: Page, views: readonly ViewInfo[]): PageTab[] {
  return tabs.filter((tab) => views.some(({ name }) => name === tab.view) && missingReason(tab, views) === null);
}

/** The tab with which a page opens: the one of the view that the recording is about, else the first with data. */
export function leadingTab(page: Page, views: readonly ViewInfo[], first: string): PageTab | undefined {
  const tabs = availableTabs(page, views);
  return tabs.find(({ view }) => view === first) ?? tabs[0];
}

/** Why a tab has nothing to show; null when it has, or when the view is unknown. */
export function missingReason({ view, groupBys }: PageTab, views: readonly ViewInfo[]): string | null {
  const info = views.find(({ name }) => name === view);
  if (info === undefined) return null;
  if (!info.available) return info.reason ?? "Nothing to show.";
  return info.missing_group_bys[groupBys?.[0] ?? ""] ?? null;
}

/**
 * The tab of a view that the address means: the one it names, else the one with the table that it names, with its
 * grouping, and with data.
 * @param view The answer, null before it arrives.
 */
export function currentTab(page: Page, name: string, params: Params, view: View | null): PageTab | undefined {
  const own = page.tabs.filter((tab) => tab.view === name);
  const { tab: id, table, group_by: groupBy } = params as Record<string, string | undefined>;
  // Former addresses named a table.
  const named = own.find((tab) => tab.id === id) ?? own.find(({ tables }) => id !== undefined && tables?.includes(id) === true);
  if (named !== undefined) return named;
  const narrowed = (tabs: readonly PageTab[], isMeant: (tab: PageTab) => boolean) => (tabs.some(isMeant) ? tabs.filter(isMeant) : tabs);
  const ofTable = narrowed(own, ({ tables }) => table !== undefined && tables?.includes(table) === true);
  const ofGroupBy = narrowed(ofTable, ({ groupBys }) => groupBy !== undefined && groupBys?.includes(groupBy) === true);
  return narrowed(ofGroupBy, (tab) => view !== null && hasData(tab, view))[0];
}

/** Whether a part of a view has anything to show; a tab that declares no parts always has. */
export function hasData({ tables, series, needs }: PageTab, view: View): boolean {
  if (tables === undefined && series === undefined) return true;
  const hasRows = tables?.some((name) => hasValues(view.tables[name], needs?.[name])) === true;
  return hasRows || Object.entries(view.series).some(([name, { lines }]) => lines.length > 0 && series?.some((prefix) => name.startsWith(prefix)) === true);
}

function hasValues(table: Table | undefined, keys: readonly string[] | undefined): boolean {
  if (table === undefined || table.row_count === 0) return false;
  return keys === undefined || table.rows.some((row) => keys.some((key) => hasColumn(table, key) && cellOf(table, row, key) !== null));
}

/** Whether the answer of the view is about what a tab shows. */
export function showsAnswer(tab: PageTab, page: Page, view: View): boolean {
  if (!hasData(tab, view)) return false;
  const earlier = page.tabs.slice(0, page.tabs.indexOf(tab)).filter((each) => each.view === tab.view);
  return tab.repeatsAnswer !== true || !earlier.some((each) => hasData(each, view));
}

/** What a link to the tab sets in the address. */
export function tabParams({ tables, series, groupBys, id }: PageTab): Params {
  return { ...(tables !== undefined || series !== undefined ? { tab: id } : {}), ...(groupBys?.[0] === undefined ? {} : { group_by: groupBys[0] }) };
}
