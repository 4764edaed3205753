/** What the search of the top bar leads to, best first: a name that is exactly the text, before one that holds it. */
import type { Table, ViewInfo } from "../../api/types";
import { formatFilter } from "../../lib/grammar";
import { formatNumber } from "../../lib/format";
import { namesReader, shownName } from "../../lib/names";
import { cellOf } from "../../lib/rows";
import { pagesOf, availableTabs, tabParams } from "../../pages/pages";
import type { Params } from "../../state/address";

/** A table whose rows have names. */
export interface SearchedTable {
  readonly view: string;
  readonly table: string;
  /** What a row is, for one and for several. */
  readonly noun: readonly [one: string, many: string];
  readonly groupBy?: string;
  /** Most time first, where the table itself has another order. */
  readonly sort?: string;
}

/** In the order of hits that are equally good. */
export const SEARCHED_TABLES: readonly SearchedTable[] = [
  { view: "operators", table: "operators", noun: ["Operator", "operators"] },
  { view: "kernels", table: "kernels", noun: ["Kernel", "kernels"] },
  { view: "modules", table: "modules", noun: ["Module", "modules"], sort: "-device_total_us,-host_total_us" },
  { view: "groups", table: "groups", noun: ["User range", "user ranges"], groupBy: "ranges", sort: "-gpu_total_us,-cpu_total_us" },
  { view: "kernels", table: "api_calls", noun: ["API call", "API calls"] },
  { view: "distributed", table: "collectives", noun: ["Collective", "collectives"] },
  { view: "memory", table: "memory_stats", noun: ["Allocating operator", "allocating operators"] },
];

const NAME = "name";
/** Matching rows that are asked for: among so many, the best is one. */
export const CANDIDATES = 100;

export interface Hit {
  readonly key: string;
  readonly title: string;
  /** Where it is. */
  readonly where: string;
  readonly rank: number;
  /** The view it leads to, with parameters; the steps that it selects. */
  readonly goal: { readonly view: string; readonly params: Params } | { readonly steps: string };
}

/** Lower is better. Steps and pages rank among the names. */
const Rank = { EXACT: 0, STEP: 1, PAGE: 2, TAIL: 3, PREFIX: 4, WORD: 5, PART: 6, QUESTION: 7, NUMBER: 8, ALL: 9, TIMELINE: 10 } as const;

/** How well a name matches a text that it contains. */
export function rankOf(name: string, text: string): number {
  const [lower, wanted] = [name.toLowerCase(), text.toLowerCase()];
  if (lower === wanted) return Rank.EXACT;
  if (lower.endsWith(wanted) && /[:./]$/.test(lower.slice(0, -wanted.length))) return Rank.TAIL;
  if (lower.startsWith(wanted)) return Rank.PREFIX;
  const at = lower.indexOf(wanted);
  return at > 0 && !/[a-z0-9]/.test(lower[at - 1] ?? "") ? Rank.WORD : Rank.PART;
}

/** The best row of a table whose name matches, and all its matching rows. */
export function tableHits({ view, table: tableName, noun, groupBy }: SearchedTable, table: Table, text: string): Hit[] {
  const readNames = namesReader(table);
  let best: { readonly name: string; readonly title: string; readonly rank: number } | null = null;
  for (const row of table.rows) {
    const name = cellOf(table, row, NAME);
    if (typeof name !== "string") continue;
    const title = readNames === null ? name : shownName(readNames(row), "short");
    const rank = Math.min(rankOf(name, text), rankOf(title, text));
    // Of equally good ones the first costs the most.
    if (best === null || rank < best.rank) best = { name, title, rank };
  }
  if (best === null) return [];
  const grouping: Params = groupBy === undefined ? {} : { group_by: groupBy };
  const goal = (params: Params) => ({ view, params: { ...grouping, table: tableName, ...params } });
  const hits: Hit[] = [
    {
      key: `${view} ${tableName}`,
      title: best.title,
      where: noun[0],
      rank: best.rank,
      goal: goal({ [`${tableName}.filter`]: formatFilter([{ key: NAME, operator: "=", value: best.name }]) }),
    },
  ];
  if (table.row_count > 1) {
    hits.push({ key: `all ${view} ${tableName}`, title: `All ${formatNumber(table.row_count)} ${noun[1]} with “${text}”`, where: "", rank: Rank.ALL, goal: goal({ [`${tableName}.q`]: text }) });
  }
  return hits;
}

/** Pages and tabs by their titles and by the words of their questions. */
export function pageHits(views: readonly ViewInfo[], text: string): Hit[] {
  const wanted = text.toLowerCase();
  return pagesOf(views).flatMap((page): Hit[] =>
    availableTabs(page, views).flatMap((tab, index): Hit[] => {
      const isFirst = index === 0;
      const byTitle = [tab.title, ...(isFirst ? [page.title] : [])].some((title) => title.toLowerCase().startsWith(wanted));
      const byQuestion = isFirst && wanted.length > 2 && page.question.toLowerCase().includes(wanted);
      if (!byTitle && !byQuestion) return [];
      const title = tab.title === page.title ? page.title : `${page.title}: ${tab.title}`;
      return [{ key: `page ${page.id} ${tab.id}`, title, where: `Page. ${page.question}`, rank: byTitle ? Rank.PAGE : Rank.QUESTION, goal: { view: tab.view, params: tabParams(tab) } }];
    }),
  );
}

const NOUN = /^\s*(?:profiler)?(?:step|iteration)s?\b/i;
const ONLY_STEPS = /^[\s\d:;,.–#-]*\d[\s\d:;,.–#-]*$|^\s*(first|last)(\s*\d+)?\s*$/i;

/** The text where it may mean steps: "step 12", "3-5", "last 3"; null for any other. */
export function stepsTextOf(text: string): string | null {
  const isNamed = NOUN.test(text) && text.replace(NOUN, "").trim() !== "";
  return isNamed || ONLY_STEPS.test(text) ? text : null;
}

/** Steps that exist, as the server reads the text. */
export function stepsHit(text: string, steps: string, noun: "step" | "iteration"): Hit {
  const isNumber = /^\s*\d+\s*$/.test(text);
  const title = `Select ${noun}${/[:,]/.test(steps) ? "s" : ""} ${steps.replace(/:/g, "–")}`;
  return { key: "steps", title, where: "Selection of every page", rank: isNumber ? Rank.NUMBER : Rank.STEP, goal: { steps } };
}

/** Tracks of the timeline with the text in their names. */
export function trackHits(names: readonly string[], text: string): Hit[] {
  const matches = names.filter((name) => name.toLowerCase().includes(text.toLowerCase()));
  const [first] = matches.toSorted((a, b) => rankOf(a, text) - rankOf(b, text));
  if (first === undefined) return [];
  const more = matches.length === 1 ? "" : `, 1 of ${formatNumber(matches.length)} tracks`;
  return [{ key: "track", title: first, where: `Track of the timeline${more}`, rank: rankOf(first, text), goal: { view: "timeline", params: { tracks: text } } }];
}

export function timelineHit(text: string): Hit {
  return { key: "timeline", title: `Search the timeline for “${text}”`, where: "Every event", rank: Rank.TIMELINE, goal: { view: "timeline", params: { find: text } } };
}

/** Best first; equal ones stay in their order. */
export function ranked(hits: readonly Hit[]): Hit[] {
  return hits.toSorted((a, b) => a.rank - b.rank);
}
