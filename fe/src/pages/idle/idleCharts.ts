/** The charts of idle time. */
import type { Series, Table, View } from "../../api/types";
import type { CategoryChart, CategoryLine } from "../../chart/types";
import { numberOf, textOf } from "../../lib/rows";

const BUSY = "Busy";
/** Bins of launch delays per power of ten. */
const BINS_PER_DECADE = 5;

/** One bar per GPU: busy time, and idle time by cause. */
export function timeOfGpus(view: View): CategoryChart | null {
  const { causes } = view.tables;
  if (causes === undefined) return null;
  const busy = view.facts.flatMap(({ key, value, scope }) => (key === "busy_us" && typeof value === "number" ? [{ scope: scope ?? "GPU", value }] : []));
  if (busy.length === 0) return null;
  const idle = titlesOf(causes, view.series["idle_by_step"]).map((title): CategoryLine => ({ name: title, values: busy.map(({ scope }) => idleTime(causes, scope, title)) }));
  return {
    kind: "stacked_bar",
    horizontal: true,
    categories: busy.map(({ scope }) => scope),
    lines: [{ name: BUSY, values: busy.map(({ value }) => value) }, ...idle],
    categoryTitle: "",
    value: { title: "Time of the selected steps", unit: "us" },
  };
}

/** Causes in the order of the chart over steps, then the others. */
function titlesOf(causes: Table, series: Series | undefined): string[] {
  const known = causes.rows.filter((row) => numberOf(causes, row, "total_us") !== null).map((row) => textOf(causes, row, "title"));
  return [...new Set([...(series?.lines ?? []).map(({ name }) => name), ...known])];
}

function idleTime(causes: Table, scope: string, title: string): number {
  const gpu = /\d+/.exec(scope)?.[0] ?? "";
  const row = causes.rows.find((each) => textOf(causes, each, "gpu") === gpu && textOf(causes, each, "title") === title);
  return row === undefined ? 0 : (numberOf(causes, row, "total_us") ?? 0);
}

/** Launch delays, with times as labels instead of powers of ten. */
export function delayChart(series: Series): CategoryChart {
  const powers = [...new Set(series.lines.flatMap(({ x }) => x))].sort((a, b) => a - b);
  return {
    kind: "stacked_bar",
    horizontal: false,
    categories: powers.map(delayText),
    fullNames: powers.map((power) => `${delayText(power)} to ${delayText(power + 1 / BINS_PER_DECADE)}`),
    lines: series.lines.map(({ name, x, y }) => {
      const byPower = new Map(x.map((power, index) => [power, y[index] ?? null]));
      return { name, values: powers.map((power) => byPower.get(power) ?? null) };
    }),
    categoryTitle: "Delay from",
    value: { title: series.y_title, unit: series.y_unit },
  };
}

/** The lower edge of a bin; the first bin includes shorter delays. */
export function delayText(power: number): string {
  const us = Number((10 ** power).toPrecision(2));
  const [value, unit] = us >= 1e6 ? [us / 1e6, "s"] : us >= 1e3 ? [us / 1e3, "ms"] : [us, "µs"];
  return power <= -1 ? "0 µs" : `${Number(value.toPrecision(2))} ${unit}`;
}
