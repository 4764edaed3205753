/** Converts {@link ChartData} into options of ECharts. */
import type { EChartsCoreOption } from "echarts/core";

import { exactValue, formatNumber, formatValue, withUnit } from "../lib/format";
import { shortenDistinct, shortenMiddle } from "../lib/shorten";
import { scaleFor, type Scale } from "../lib/units";
import { visibleText } from "../lib/visibleText";
import type { ChartColors } from "./colors";
import { colorVariables } from "./palette";
import { tooltipElement, type TooltipRow } from "./tooltip";
import { isCurve, type Axis, type CategoryChart, type ChartData, type CurveChart, type Vertical } from "./types";

const FONT_PX = 12;
const CHARACTER_PX = 7;
const NAME_SHARE = 0.4;
const MIN_NAME_CHARACTERS = 24;
/** Characters of a full name in a tooltip. */
const MAX_HOVER_CHARACTERS = 500;

export interface DrawContext {
  readonly hidden: ReadonlySet<string>;
  readonly colors: ChartColors;
  /** Width of the chart, of which names get a part. */
  readonly widthPx: number;
}

export function chartOptions(chart: ChartData, { hidden, colors, widthPx }: DrawContext): EChartsCoreOption {
  return {
    animation: false,
    textStyle: { fontFamily: "system-ui, sans-serif", fontSize: FONT_PX, color: colors.text },
    // Invisible, but required for zooming by dragging.
    toolbox: { top: -100, feature: zoomable(chart) ? { dataZoom: { yAxisIndex: "none", filterMode: "none" } } : {} },
    ...(isCurve(chart) ? curveOptions(chart, hidden, colors, widthPx) : categoryOptions(chart, hidden, colors, nameCharacters(widthPx))),
  };
}

/** Whether a range is meaningful: not for a list of the largest. */
export function zoomable(chart: ChartData): boolean {
  return isCurve(chart) || !chart.horizontal;
}

/** The colour of a line, which stays when others are hidden. */
export function lineColor(chart: ChartData, name: string): string {
  const names = chart.lines.map((line) => line.name);
  return colorVariables(names)[names.indexOf(name)] ?? "--cat-other";
}

function tooltipBase(colors: ChartColors) {
  return {
    backgroundColor: colors.surface,
    borderColor: colors.color("--line-strong"),
    padding: 8,
    textStyle: { color: colors.text, fontSize: FONT_PX },
    confine: true,
    transitionDuration: 0,
  };
}

function axisBase(title: string, colors: ChartColors) {
  return {
    name: visibleText(title),
    nameLocation: "middle",
    nameTextStyle: { color: colors.soft },
    axisLine: { lineStyle: { color: colors.color("--line-strong") } },
    axisTick: { lineStyle: { color: colors.color("--line-strong") } },
    axisLabel: { color: colors.soft },
    splitLine: { lineStyle: { color: colors.line } },
  };
}

function titled(axis: Axis, scale: Scale): string {
  return scale.label === "" ? axis.title : `${axis.title} (${scale.label})`;
}

/** Values in the unit of the axis, so that its ticks are round: 512 KiB, not 524 288 B. */
function scaled(values: readonly (number | null)[], { divisor }: Scale): (number | null)[] {
  return divisor === 1 ? [...values] : values.map((value) => (value === null ? null : value / divisor));
}

/** Labels of an axis; `divisor` when its ticks are in another unit than its title. */
function tickLabel(divisor = 1): (value: number) => string {
  return (value) => {
    // Ticks are round numbers; digits after the sixth are noise.
    const shown = Number((value / divisor).toPrecision(6));
    const decimals = String(shown).split(".")[1] ?? "";
    return formatNumber(shown, Math.min(6, decimals.length));
  };
}

function nameCharacters(widthPx: number): number {
  return Math.max(MIN_NAME_CHARACTERS, Math.floor((widthPx * NAME_SHARE) / CHARACTER_PX));
}

function categoryOptions(chart: CategoryChart, hidden: ReadonlySet<string>, colors: ChartColors, characters: number): EChartsCoreOption {
  const lines = chart.lines.filter((line) => !hidden.has(line.name));
  const stacked = chart.kind === "stacked_bar";
  const scale = scaleFor(chart.value.unit, tallest(lines, stacked));
  const slanted = !chart.horizontal && needSlant(chart.categories);
  const labels = shortLabels(chart.categories, slanted ? SLANTED_CHARACTERS : characters);
  const names = {
    type: "category",
    data: [...chart.categories],
    ...axisBase(slanted || chart.horizontal ? "" : chart.categoryTitle, colors),
    nameGap: 28,
    inverse: chart.horizontal,
    axisTick: { show: false },
    axisLabel: { color: colors.soft, formatter: (name: string) => labels.get(name) ?? name, ...(slanted ? { interval: 0, rotate: 35 } : {}) },
    splitLine: { show: false },
  };
  const values = {
    type: "value",
    ...axisBase(titled(chart.value, scale), colors),
    nameGap: chart.horizontal ? 26 : 44,
    axisLabel: { color: colors.soft, formatter: tickLabel() },
  };
  return {
    grid: chart.horizontal
      ? { left: 8, right: 24, top: 4, bottom: 28, containLabel: true }
      : { left: 64, right: 16, top: 12, bottom: slanted ? 96 : 44 },
    xAxis: chart.horizontal ? values : names,
    yAxis: chart.horizontal ? names : values,
    tooltip: {
      ...tooltipBase(colors),
      trigger: "axis",
      axisPointer: { type: "shadow", shadowStyle: { color: colors.color("--hover"), opacity: 0.7 } },
      formatter: (params: unknown) => categoryTooltip(chart, hidden, colors, firstIndex(params)),
    },
    series: lines.map((line) => ({
      type: "bar",
      name: line.name,
      data: scaled(line.values, scale),
      ...(stacked ? { stack: "all" } : {}),
      barMaxWidth: chart.horizontal ? 16 : 48,
      barCategoryGap: chart.horizontal ? "25%" : "20%",
      itemStyle: { color: colors.color(lineColor(chart, line.name)) },
      emphasis: { disabled: true },
    })),
  };
}

const SLANT_FROM_CHARACTERS = 90;
const SLANT_TO_COUNT = 24;
const SLANTED_CHARACTERS = 20;

/** Few names that do not fit in one line are slanted; of many names ECharts omits some. */
function needSlant(names: readonly string[]): boolean {
  return names.length <= SLANT_TO_COUNT && names.join(" ").length > SLANT_FROM_CHARACTERS;
}

/** The short label of every name. */
function shortLabels(names: readonly string[], characters: number): ReadonlyMap<string, string> {
  const short = shortenDistinct(names.map(visibleText), characters);
  return new Map(names.map((name, index) => [name, short[index] ?? name]));
}

function tallest(lines: CategoryChart["lines"], stacked: boolean): number {
  const length = Math.max(0, ...lines.map((line) => line.values.length));
  let largest = 0;
  for (let index = 0; index < length; index++) {
    const values = lines.map((line) => Math.abs(line.values[index] ?? 0));
    largest = Math.max(largest, stacked ? values.reduce((sum, value) => sum + value, 0) : Math.max(0, ...values));
  }
  return largest;
}

function firstIndex(params: unknown): number {
  const first = (Array.isArray(params) ? params[0] : params) as { dataIndex?: number } | undefined;
  return first?.dataIndex ?? -1;
}

function categoryTooltip(chart: CategoryChart, hidden: ReadonlySet<string>, colors: ChartColors, index: number): HTMLElement {
  const name = chart.categories[index] ?? "";
  const lines = chart.lines.filter((line) => !hidden.has(line.name));
  const total = lines.reduce((sum, line) => sum + (line.values[index] ?? 0), 0);
  const scale = scaleFor(chart.value.unit, total);
  const stacked = chart.kind === "stacked_bar" && lines.length > 1;
  const rows = lines.flatMap((line): TooltipRow[] => {
    const value = line.values[index] ?? null;
    if (stacked && value === 0) return [];
    const share = stacked && value !== null && value !== total ? `  ${formatNumber((100 * value) / total, 1)} %` : "";
    const text = value === null ? "–" : withUnit(value, scale, chart.value.unit);
    return [{ color: colors.color(lineColor(chart, line.name)), name: line.name, value: text + share }];
  });
  const title = chart.horizontal ? name : `${chart.categoryTitle} ${name}`;
  const full = chart.fullNames?.[index];
  return tooltipElement(full === undefined || full === name ? [title] : [title, ...full.split("\n").map((each) => shortenMiddle(each, MAX_HOVER_CHARACTERS))], rows, stacked && rows.length > 1 ? `Total ${withUnit(total, scale, chart.value.unit)}` : null);
}

function curveOptions(chart: CurveChart, hidden: ReadonlySet<string>, colors: ChartColors, widthPx: number): EChartsCoreOption {
  const lines = chart.lines.filter((line) => !hidden.has(line.name));
  const shown = shownRange(chart);
  const xScale = scaleFor(chart.x.unit, Math.max(Math.abs(shown.start), Math.abs(shown.end)));
  const yScale = scaleFor(chart.y.unit, Math.max(stackedMax(chart, lines), ...lines.map((line) => largest(line.y))));
  // Indexes such as step numbers: every tick is an integer.
  const isIndex = lines.every((line) => line.x.every(Number.isInteger)) && chart.x.unit === null;
  const axis = (title: string, gap: number, divisor: number) => ({
    type: "value",
    ...axisBase(title, colors),
    nameGap: gap,
    axisLabel: { color: colors.soft, formatter: tickLabel(divisor), hideOverlap: true, showMinLabel: false, showMaxLabel: false },
  });
  return {
    grid: { left: GRID_LEFT_PX, right: GRID_RIGHT_PX, top: 24, bottom: 44 },
    // x stays in its base unit, so that a zoomed range is exact.
    xAxis: { ...axis(titled(chart.x, xScale), 28, xScale.divisor), min: chart.range?.start ?? "dataMin", max: chart.range?.end ?? "dataMax", splitLine: { show: false }, ...(isIndex ? indexAxis(colors) : {}) },
    yAxis: { ...axis(titled(chart.y, yScale), 52, 1), axisLabel: { color: colors.soft, formatter: tickLabel() } },
    tooltip: {
      ...tooltipBase(colors),
      trigger: "axis",
      axisPointer: { type: "line", lineStyle: { color: colors.soft } },
      formatter: (params: unknown) => curveTooltip(chart, colors, yScale, params),
    },
    series: lines.map((line, index) => ({
      type: "line",
      name: line.name,
      data: points(line.x, scaled(line.y, yScale)),
      step: chart.kind === "stair" ? "end" : false,
      symbol: "none",
      ...(chart.stacked?.includes(line.name) === true ? { stack: "all", areaStyle: { opacity: 0.7 }, lineStyle: { width: 0.5 } } : { lineStyle: { width: 1.5, type: chart.dashed?.includes(line.name) === true ? "dashed" : "solid" } }),
      itemStyle: { color: colors.color(lineColor(chart, line.name)) },
      emphasis: { disabled: true },
      ...(index === 0 && chart.marks.length > 0 ? { markPoint: markPoint(chart, colors, yScale) } : {}),
      ...(index === 0 ? verticals(chart, colors, widthPx) : {}),
    })),
  };
}

type Point = readonly [number, number | null];

/** Points of a line; isolated ones get a symbol, as a line of one point is invisible. */
function points(x: readonly number[], y: readonly (number | null)[]): (Point | { value: Point; symbol: string; symbolSize: number })[] {
  return y.map((each, index) => {
    const value: Point = [x[index] ?? 0, each];
    const isAlone = each !== null && (y[index - 1] ?? null) === null && (y[index + 1] ?? null) === null;
    return isAlone ? { value, symbol: "circle", symbolSize: 6 } : value;
  });
}

function indexAxis(colors: ChartColors) {
  return { minInterval: 1, axisLabel: { color: colors.soft, formatter: tickLabel(), hideOverlap: true } };
}

function largest(values: readonly (number | null)[]): number {
  let max = 0;
  for (const value of values) if (value !== null && Math.abs(value) > max) max = Math.abs(value);
  return max;
}

/** The largest sum of the stacked lines. */
function stackedMax({ stacked = [] }: CurveChart, lines: CurveChart["lines"]): number {
  const levels = lines.filter(({ name }) => stacked.includes(name));
  return Math.max(0, ...(levels[0]?.y ?? []).map((_, index) => levels.reduce((sum, { y }) => sum + (y[index] ?? 0), 0)));
}

function markPoint(chart: CurveChart, colors: ChartColors, yScale: Scale) {
  const first = Math.min(...chart.lines.map((line) => line.x[0] ?? 0));
  const last = Math.max(...chart.lines.map((line) => line.x.at(-1) ?? 0));
  return {
    symbol: "circle",
    symbolSize: 8,
    itemStyle: { color: colors.color("--bad") },
    label: { color: colors.text, fontSize: FONT_PX, formatter: ({ name }: { name: string }) => visibleText(name) },
    data: chart.marks.map((mark) => ({
      name: mark.label,
      coord: [mark.x, mark.y / yScale.divisor],
      label: { position: mark.x < (first + last) / 2 ? "right" : "left" },
    })),
  };
}

const GRID_LEFT_PX = 72;
const GRID_RIGHT_PX = 24;
const LABEL_GAP_PX = 8;
/** More vertical lines than this are drawn paler. */
const MANY_MARKS = 20;

/** The visible range of x. */
function shownRange({ range, lines }: CurveChart): { readonly start: number; readonly end: number } {
  if (range !== undefined) return range;
  const starts = lines.map((line) => line.x[0] ?? 0);
  const ends = lines.map((line) => line.x.at(-1) ?? 0);
  return { start: Math.min(0, ...starts), end: Math.max(0, ...ends) };
}

/** Thin vertical lines over the whole height, with labels where there is room. */
function verticals(chart: CurveChart, colors: ChartColors, widthPx: number) {
  const at = chart.verticals ?? [];
  if (at.length === 0) return {};
  const { start, end } = shownRange(chart);
  const roomPx = Math.max(1, widthPx - GRID_LEFT_PX - GRID_RIGHT_PX);
  const pxPerUnit = roomPx / Math.max(end - start, Number.MIN_VALUE);
  let freeFromPx = 0;
  const label = ({ x, label: text }: Vertical) => {
    const width = visibleText(text).length * CHARACTER_PX;
    const middle = (x - start) * pxPerUnit;
    // At the right edge the label is left of its line.
    const isLast = middle + width / 2 > roomPx + GRID_RIGHT_PX;
    const from = isLast ? middle - width : middle - width / 2;
    const show = from >= freeFromPx;
    if (show) freeFromPx = from + width + LABEL_GAP_PX;
    return { show, align: isLast ? "right" : "center" };
  };
  return {
    markLine: {
      silent: true,
      symbol: "none",
      animation: false,
      lineStyle: { color: colors.soft, width: 1, type: "dashed", opacity: at.length > MANY_MARKS ? 0.25 : 0.5 },
      label: { color: colors.soft, opacity: 1, fontSize: FONT_PX, formatter: ({ name }: { name: string }) => visibleText(name) },
      data: at.map((each) => ({ name: each.label, xAxis: each.x, label: label(each) })),
    },
  };
}

function curveTooltip(chart: CurveChart, colors: ChartColors, yScale: Scale, params: unknown): HTMLElement {
  const points = (Array.isArray(params) ? params : [params]) as { seriesName: string; value: [number, number | null] }[];
  const x = points[0]?.value[0] ?? 0;
  const rows = points.map(({ seriesName, value }) => ({
    color: colors.color(lineColor(chart, seriesName)),
    name: seriesName,
    value: value[1] === null ? "–" : formatValue(value[1] * yScale.divisor, chart.y.unit),
  }));
  return tooltipElement([`${chart.x.title} ${exactValue(x, chart.x.unit)}`], rows, null);
}
