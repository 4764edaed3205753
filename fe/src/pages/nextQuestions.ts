/** The question that the reader of a page has next, and where its answer is; about the largest row where one is named. */
import type { Row, Table, View, ViewInfo } from "../api/types";
import { formatFilter } from "../lib/grammar";
import { cellOf, hasColumn, numberOf, textOf } from "../lib/rows";
import { shortenMiddle } from "../lib/shorten";
import { visibleText } from "../lib/visibleText";
import type { Params } from "../state/address";
import { hasData, pageOf } from "./pages";

export interface Subject {
  readonly table: string;
  /** The column with the name. */
  readonly key: string;
  /** The column with the text to show for it, if another. */
  readonly label?: string;
  /** The name with the most of it, summed over its rows, is meant. */
  readonly by: string;
  /** A column and the value that the row must have. */
  readonly where?: readonly [string, string];
}

export interface Question {
  readonly from: string;
  /** One tab of the view only. */
  readonly tab?: string;
  /** Groupings whose rows have other names. */
  readonly notBy?: readonly string[];
  /** `{}` is the name of the subject. */
  readonly question: string;
  readonly subject?: Subject;
  readonly to: string;
  readonly params?: Params;
  /** The table of the page there, and its column that must equal the name of the subject. */
  readonly filter?: readonly [string, string];
  /** Only of runs with at least so many workers. */
  readonly leastWorkers?: number;
  /** The parameter that is the name of the subject. */
  readonly param?: string;
}

const DEVICE_TOP: Subject = { table: "operators", key: "name", by: "device_self_us", where: ["kind", "operator"] };
const HOST_TOP: Subject = { ...DEVICE_TOP, by: "host_self_us" };
const BY_STACK = { group_by: "name+call_stack" };
const BY_LAUNCH = { group_by: "name+operator+launch" };

/** The first whose page has data and whose subject exists is asked. */
export const QUESTIONS: readonly Question[] = [
  { from: "overview", question: "How do the ranks of this job compare?", to: "ranks", leastWorkers: 2 },
  { from: "overview", question: "Which gaps are the longest, and what did the host do meanwhile?", to: "idle", params: { tab: "gaps", "gaps.sort": "-duration_us" } },
  { from: "overview", question: "Which operators take the time?", to: "operators", params: { "operators.sort": "-host_self_us" } },
  { from: "overview", question: "Which code holds memory?", to: "snapshot" },
  { from: "overview", question: "What fills memory?", to: "memory" },
  { from: "iterations", question: "What limits a step?", to: "critical_path" },
  { from: "iterations", question: "Which part of a step takes the time?", to: "phases" },
  { from: "phases", question: "What limits a step?", to: "critical_path" },
  { from: "critical_path", question: "Why did the device wait?", to: "idle" },
  { from: "critical_path", question: "Which operators take the time?", to: "operators", params: { "operators.sort": "-host_self_us" } },
  { from: "operators", tab: "name", notBy: ["path"], question: "Which kernels does {} launch?", subject: DEVICE_TOP, to: "kernels", params: BY_LAUNCH, filter: ["kernels", "operator"] },
  { from: "operators", tab: "name", notBy: ["path"], question: "Which lines of code call {}?", subject: HOST_TOP, to: "operators", params: BY_STACK, filter: ["operators", "name"] },
  { from: "operators", question: "How fast could they be?", to: "efficiency" },
  { from: "operator_types", question: "Which operators of type {} cost the most?", subject: { table: "operator_types", key: "type", by: "pct" }, to: "operators", params: { group_by: "path" }, filter: ["operators", "type"] },
  { from: "modules", question: "Which layer is an outlier among its siblings?", to: "groups", params: { group_by: "modules" } },
  { from: "groups", question: "Which operators take the time?", to: "operators" },
  { from: "shapes", question: "How fast could each shape be?", to: "efficiency", params: { tab: "shapes", group_by: "operator+input_shape" } },
  { from: "kernels", tab: "kernels", question: "Which lines of code call {}, which launches the most kernel time?", subject: { table: "kernels", key: "operator", by: "total_us" }, to: "operators", params: BY_STACK, filter: ["operators", "name"] },
  { from: "kernels", tab: "kernels", notBy: [BY_LAUNCH.group_by], question: "Which operators launch {}?", subject: { table: "kernels", key: "name", label: "short_name", by: "total_us" }, to: "kernels", params: BY_LAUNCH, filter: ["kernels", "name"] },
  { from: "kernels", tab: "api_calls", question: "Does the device wait for launches?", to: "idle", params: { tab: "launches" } },
  { from: "kernels", question: "Why did the device wait?", to: "idle" },
  { from: "copies", question: "What did the device wait for?", to: "idle" },
  { from: "compiled", question: "Which kernels take the time?", to: "kernels" },
  { from: "sequences", question: "How long does the device wait between kernels?", to: "idle", params: { tab: "gaps" } },
  { from: "idle", tab: "causes", question: "Which gaps are the longest?", to: "idle", params: { tab: "gaps", "gaps.sort": "-duration_us" } },
  { from: "idle", tab: "gaps", question: "Which launches came late?", to: "idle", params: { tab: "launches", "launch_delays.sort": "-longest_delay_us" } },
  { from: "idle", tab: "launches", question: "Which operators keep the host busy?", to: "operators", params: { table: "operators", "operators.sort": "-host_self_us" } },
  { from: "idle", question: "Which kernels ran in between?", to: "kernels" },
  { from: "efficiency", tab: "roofline", question: "Which operators could save the most time?", to: "efficiency", params: { tab: "operators", "operators.sort": "-recoverable_us" } },
  { from: "efficiency", notBy: ["module", "type", "step"], question: "Which kernels does {} run?", subject: { table: "operators", key: "name", by: "recoverable_us" }, to: "kernels", params: BY_LAUNCH, filter: ["kernels", "operator"] },
  { from: "efficiency", question: "Which operators take the time?", to: "operators" },
  { from: "memory", question: "Which call stacks hold memory?", to: "snapshot" },
  { from: "memory", tab: "over_time", question: "What fills memory at the peak?", to: "memory", params: { tab: "peak" } },
  { from: "memory", tab: "peak", question: "Which operators allocate the most?", to: "memory", params: { tab: "allocations", "memory_stats.sort": "-self_allocation_bytes" } },
  { from: "memory", question: "Which lines of code call {}, which allocates the most?", subject: { table: "memory_stats", key: "name", by: "self_allocation_bytes" }, to: "operators", params: BY_STACK, filter: ["operators", "name"] },
  { from: "snapshot", question: "What fills memory over time?", to: "memory" },
  { from: "ranks", question: "Which ranks wait for which?", to: "distributed", params: { tab: "ranks" } },
  { from: "ranks", question: "What happened when?", to: "timeline" },
  { from: "distributed", tab: "ranks", question: "What is {}, which delays the others most, doing meanwhile?", subject: { table: "stragglers", key: "worker", by: "delay_us" }, to: "timeline", param: "worker" },
  { from: "distributed", tab: "ranks", question: "Which collectives wait?", to: "distributed", params: { tab: "collectives" } },
  { from: "distributed", question: "Which rank is late?", to: "distributed", params: { tab: "ranks" } },
  { from: "experts", question: "What is {}, whose experts take the most time, doing when?", subject: { table: "expert_ranks", key: "worker", by: "product_us" }, to: "timeline", param: "worker" },
  { from: "roles", question: "What happened when?", to: "timeline" },
  { from: "data", question: "Which steps wait for data?", to: "phases" },
  { from: "resources", question: "Why did the device wait?", to: "idle" },
  { from: "resources", question: "Which operators keep the host busy?", to: "operators", params: { "operators.sort": "-host_self_us" } },
];

export interface NextQuestion {
  readonly text: string;
  readonly view: string;
  readonly params: Params;
}

/**
 * @param tab The shown tab of the view.
 * @param workers How many workers the run has.
 */
export function nextQuestion(view: View, tab: string, views: readonly ViewInfo[], workers = 1): NextQuestion | null {
  const has = (name: string, groupBy = "") => name === "timeline" || views.some((each) => each.name === name && each.available && !(groupBy in each.missing_group_bys));
  for (const each of QUESTIONS) {
    if (each.from !== view.view || !has(each.to, each.params?.["group_by"]) || (each.tab !== undefined && each.tab !== tab)) continue;
    if (workers < (each.leastWorkers ?? 1)) continue;
    if (each.to === view.view && leadsToEmptyTab(each, view)) continue;
    if (each.notBy?.includes(view.selection.group_by ?? "") === true) continue;
    const subject = each.subject === undefined ? NO_SUBJECT : subjectOf(view, each.subject);
    if (subject === null) continue;
    return { text: each.question.replace("{}", () => shortenMiddle(visibleText(subject.label), MAX_CHARACTERS)), view: each.to, params: { ...each.params, ...paramsOf(each, subject.name) } };
  }
  return null;
}

/** Whether the answer would be in a tab of the shown view that has no data. */
function leadsToEmptyTab({ to, params }: Question, view: View): boolean {
  const tab = pageOf({ name: to, title: "", help: "" }).tabs.find((each) => each.view === to && each.id === params?.["tab"]);
  return tab !== undefined && !hasData(tab, view);
}

function paramsOf({ filter, param }: Question, name: string): Params {
  if (param !== undefined) return { [param]: name };
  if (filter === undefined) return {};
  const [table, key] = filter;
  return { table, [`${table}.filter`]: formatFilter([{ key, operator: "=", value: name }]) };
}

const NO_SUBJECT = { name: "", label: "" };
const MAX_CHARACTERS = 60;

/** The name whose rows have the most together; null where there is none. */
function subjectOf(view: View, { table: name, key, label = key, by, where }: Subject): { name: string; label: string } | null {
  const table = view.tables[name];
  if (table === undefined || !hasColumn(table, key)) return null;
  const isMeant = (row: Row) => where === undefined || cellOf(table, row, where[0]) === where[1];
  const totals = new Map<string, { row: Row; amount: number }>();
  for (const row of table.rows.filter(isMeant)) {
    const its = textOf(table, row, key);
    const known = totals.get(its);
    totals.set(its, { row: known?.row ?? row, amount: (known?.amount ?? 0) + amount(table, row, by) });
  }
  const [its, { row }] = [...totals].reduce<readonly [string, { row: Row | null; amount: number }]>((best, each) => (each[1].amount > best[1].amount ? each : best), ["", { row: null, amount: 0 }]);
  return row === null || its === "" ? null : { name: its, label: textOf(table, row, label) || its };
}

function amount(table: Table, row: Row, key: string): number {
  return numberOf(table, row, key) ?? 0;
}
