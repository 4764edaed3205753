/** What the view of idle time says in a sentence, and its numbers as charts. */
import type { Series, Table, View } from "../../api/types";
import type { CategoryChart, CategoryLine } from "../../chart/types";
import { formatValue } from "../../lib/format";
import { numberOf, textOf } from "../../lib/rows";

const BUSY = "Busy";
/** Bins of launch delays in a power of ten. */
const BINS_PER_DECADE = 5;

/** Of the GPU that idles most: how much, why, and what helps. */
export function answer({ facts, tables }: View): string[] {
  const shares = facts.flatMap(({ key, value, scope }) => (key === "idle_pct" && typeof value === "number" ? [{ value, scope: scope ?? "GPU" }] : []));
  const most = shares.toSorted((a, b) => b.value - a.value)[0];
  if (most === undefined) return [];
  const of = (key: string) => facts.find((fact) => fact.key === key && (fact.scope ?? "GPU") === most.scope)?.value;
  const idleUs = of("idle_us");
  const ofSeveral = shares.length > 1 ? `Of ${shares.length} GPUs ` : "";
  const time = typeof idleUs === "number" ? `, ${formatValue(idleUs, "us")}` : "";
  const sentences = [`${ofSeveral}${most.scope} ran nothing for ${formatValue(most.value, "pct")} of the time${time}${shares.length > 1 ? ", the most of all" : ""}.`];
  const { causes } = tables;
  const gpu = /\d+/.exec(most.scope)?.[0] ?? "";
  const [first] = causes?.rows.filter((row) => textOf(causes, row, "gpu") === gpu) ?? [];
  if (causes === undefined || first === undefined) return sentences;
  const share = numberOf(causes, first, "idle_pct");
  if (share === null) return sentences;
  return [...sentences, `Mostly ${textOf(causes, first, "title")}, ${formatValue(share, "pct")} of that: ${lowered(textOf(causes, first, "meaning"))}`, `What helps: ${lowered(textOf(causes, first, "remedy"))}`];
}

/** A sentence that goes on behind a colon; names and calls stay as they are. */
function lowered(text: string): string {
  return /^[A-Z][a-z]*[ ,]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;
}

/** One bar per GPU: when it worked, and why it did not. */
export function timeOfGpus(view: View): CategoryChart | null {
  const { causes } = view.tables;
  if (causes === undefined) return null;
  const busy = view.facts.flatMap(({ key, value, scope }) => (key === "busy_us" && typeof value === "number" ? [{ scope: scope ?? "GPU", value }] : []));
  if (busy.length === 0) return null;
  const idle = titlesOf(causes, view.series["idle_by_step"]).map((title): CategoryLine => ({ name: title, values: busy.map(({ scope }) => spent(causes, scope, title)) }));
  return {
    kind: "stacked_bar",
    horizontal: true,
    categories: busy.map(({ scope }) => scope),
    lines: [{ name: BUSY, values: busy.map(({ value }) => value) }, ...idle],
    categoryTitle: "",
    value: { title: "Time of the selected steps", unit: "us" },
  };
}

/** Causes in the order of the chart over steps, then others. */
function titlesOf(causes: Table, series: Series | undefined): string[] {
  const known = causes.rows.filter((row) => numberOf(causes, row, "total_us") !== null).map((row) => textOf(causes, row, "title"));
  return [...new Set([...(series?.lines ?? []).map(({ name }) => name), ...known])];
}

function spent(causes: Table, scope: string, title: string): number {
  const gpu = /\d+/.exec(scope)?.[0] ?? "";
  const row = causes.rows.find((each) => textOf(causes, each, "gpu") === gpu && textOf(causes, each, "title") === title);
  return row === undefined ? 0 : (numberOf(causes, row, "total_us") ?? 0);
}

/** Launch delays with times below the bars instead of powers of ten. */
export function delayChart(series: Series): CategoryChart {
  const places = [...new Set(series.lines.flatMap(({ x }) => x))].sort((a, b) => a - b);
  return {
    kind: "stacked_bar",
    horizontal: false,
    categories: places.map(delayText),
    fullNames: places.map((place) => `${delayText(place)} to ${delayText(place + 1 / BINS_PER_DECADE)}`),
    lines: series.lines.map(({ name, x, y }) => {
      const byPlace = new Map(x.map((place, index) => [place, y[index] ?? null]));
      return { name, values: places.map((place) => byPlace.get(place) ?? null) };
    }),
    categoryTitle: "Delay from",
    value: { title: series.y_title, unit: series.y_unit },
  };
}

/** The lower edge of a bin; the first one holds what is shorter, too. */
export function delayText(power: number): string {
  const us = Number((10 ** power).toPrecision(2));
  const [value, unit] = us >= 1e6 ? [us / 1e6, "s"] : us >= 1e3 ? [us / 1e3, "ms"] : [us, "µs"];
  return power <= -1 ? "0 µs" : `${Number(value.toPrecision(2))} ${unit}`;
}
