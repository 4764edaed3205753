/** The answer of a query as a chart: which columns are drawn by default, and the data of the drawn ones. */
import type { Column, Row, Table } from "../../api/types";
import type { ChartData } from "../../chart/types";
import { exactValue, formatNumber, isMoment, NO_VALUE } from "../../lib/format";
import type { Params } from "../../state/address";
import { CHART_KEYS } from "./sqlAddress";

export const CHART_KINDS = ["bar", "stacked_bar", "line", "stair"] as const;
export type ChartKind = (typeof CHART_KINDS)[number];
export const KIND_TITLES: Readonly<Record<ChartKind, string>> = { bar: "Bars", stacked_bar: "Stacked bars", line: "Line", stair: "Steps" };

/** Keys of columns; `by` gives every value of its column a colour, null for one colour. */
export interface ChartChoice {
  readonly x: string;
  readonly y: string;
  readonly by: string | null;
  readonly kind: ChartKind;
}

export interface AnswerChart {
  readonly chart: ChartData;
  /** What the chart leaves out or adds up, in sentences. */
  readonly remarks: readonly string[];
}

/** Bars that can be read side by side. */
const MAX_BARS = 40;
/** Different colours that can be told apart. */
const MAX_LINES = 8;
/** More values are no split that anybody would choose. */
const MAX_SPLIT = 16;
/** So many different numbers are a curve. */
const MIN_CURVE = 24;
/** Numbers that name something instead of measuring it. */
const IDENTIFIER = /(?:^|_)(?:id|slice|step|device|stream|rank|track|owner|launch|node|parent|frame|thread|correlation|sequence|address|number|process)$/;
const IDENTITY: readonly string[] = ["run", "worker", "span"];

export function isNumber({ type }: Column): boolean {
  return type === "number" || type === "integer";
}

function measures(table: Table): Column[] {
  const numbers = table.columns.filter(isNumber);
  const measured = numbers.filter(({ key }) => !IDENTIFIER.test(key) && !isMoment(key));
  return measured.length > 0 ? measured : numbers;
}

/** How many different values a column has. */
function countOf(table: Table, key: string): number {
  const index = indexOf(table, key);
  return new Set(table.rows.map((row) => row[index])).size;
}

/** What is drawn where nobody chose; null for an answer without a number. */
export function defaultChart(table: Table): ChartChoice | null {
  const numbers = measures(table);
  // What has a unit is what the query is about; a count only comes with it.
  const y = numbers.find(({ unit }) => unit !== null && unit !== "count") ?? numbers[0];
  if (y === undefined) return null;
  const others = table.columns.filter((column) => column !== y);
  const moment = others.find((column) => isNumber(column) && isMoment(column.key));
  const text = others.find((column) => !isNumber(column) && (!IDENTITY.includes(column.key) || countOf(table, column.key) > 1));
  const number = others.find(isNumber);
  const isCurve = moment !== undefined && table.rows.length >= MIN_CURVE;
  const x = (isCurve ? moment : (text ?? number)) ?? y;
  const kind = isNumber(x) && countOf(table, x.key) >= MIN_CURVE ? "line" : "bar";
  const splits = others.filter((column) => column !== x && !isNumber(column) && isSplit(table, column, kind === "bar" ? x : null));
  const [by] = splits.toSorted((a, b) => countOf(table, a.key) - countOf(table, b.key));
  return { x: x.key, y: y.key, by: by?.key ?? null, kind: kind === "bar" && by !== undefined ? "stacked_bar" : kind };
}

/** Whether a column splits the rows into few colours; of bars only where several rows have one `x`. */
function isSplit(table: Table, column: Column, x: Column | null): boolean {
  const count = countOf(table, column.key);
  return count > 1 && count <= MAX_SPLIT && (x === null || countOf(table, x.key) < table.rows.length);
}

/** What the address chooses, as far as the answer has it; the rest by default. Null for an answer without a number. */
export function chartChoice(table: Table, params: Params): ChartChoice | null {
  const base = defaultChart(table);
  if (base === null) return null;
  const named = (key: string, isFit: (column: Column) => boolean) => table.columns.find((column) => column.key === params[key] && isFit(column))?.key;
  const x = named(CHART_KEYS.x, () => true) ?? base.x;
  const y = named(CHART_KEYS.y, isNumber) ?? base.y;
  const by = params[CHART_KEYS.by] === NO_SPLIT ? null : (named(CHART_KEYS.by, () => true) ?? (base.by === x ? null : base.by));
  const wanted = CHART_KINDS.find((kind) => kind === params[CHART_KEYS.kind]) ?? base.kind;
  const isCurve = wanted === "line" || wanted === "stair";
  const xColumn = table.columns.find(({ key }) => key === x);
  return { x, y, by, kind: isCurve && xColumn !== undefined && !isNumber(xColumn) ? "bar" : wanted };
}

/** In the address: one colour, where another column would be the default. */
export const NO_SPLIT = "-";

export function answerChart(table: Table, choice: ChartChoice): AnswerChart {
  return choice.kind === "line" || choice.kind === "stair" ? curves(table, { ...choice, kind: choice.kind }) : bars(table, { ...choice, kind: choice.kind });
}

function indexOf(table: Table, key: string): number {
  return table.columns.findIndex((column) => column.key === key);
}

interface Parts {
  readonly x: Column;
  readonly y: Column;
  readonly rows: readonly { readonly x: Row[number]; readonly y: number | null; readonly line: string }[];
  /** Names of the lines, those with the greatest sums first. */
  readonly lines: readonly string[];
  /** The one of them that adds up what has no colour of its own. */
  readonly other: string | null;
  readonly remarks: readonly string[];
}

/** What has more values than there are colours is `other` in bars, and left out of curves. */
function partsOf(table: Table, { x, y, by, kind }: ChartChoice): Parts {
  const [xIndex, yIndex, byIndex] = [x, y, by ?? ""].map((key) => indexOf(table, key)) as [number, number, number];
  const [xColumn, yColumn] = [table.columns[xIndex], table.columns[yIndex]] as [Column, Column];
  const rows = table.rows.map((row) => {
    const value = row[yIndex] ?? null;
    return { x: row[xIndex] ?? null, y: typeof value === "number" ? value : null, line: by === null ? yColumn.title : shownText(row[byIndex] ?? null, table.columns[byIndex]) };
  });
  const sums = new Map<string, number>();
  for (const row of rows) sums.set(row.line, (sums.get(row.line) ?? 0) + Math.abs(row.y ?? 0));
  const all = [...sums].toSorted(([, a], [, b]) => b - a).map(([line]) => line);
  if (all.length <= MAX_LINES) return { x: xColumn, y: yColumn, rows, lines: all, other: null, remarks: [] };
  const title = table.columns[byIndex]?.title ?? "";
  if (kind === "line" || kind === "stair") {
    const lines = new Set(all.slice(0, MAX_LINES));
    const remark = `The ${MAX_LINES} of ${formatNumber(all.length)} values of ${title} with the largest sums are drawn.`;
    return { x: xColumn, y: yColumn, rows: rows.filter((row) => lines.has(row.line)), lines: [...lines], other: null, remarks: [remark] };
  }
  const lines = new Set(all.slice(0, MAX_LINES - 1));
  const other = `${formatNumber(all.length - lines.size)} others`;
  return { x: xColumn, y: yColumn, rows: rows.map((row) => (lines.has(row.line) ? row : { ...row, line: other })), lines: [...lines, other], other, remarks: [] };
}

function shownText(value: Row[number], column: Column | undefined): string {
  return value === null ? NO_VALUE : exactValue(value, column?.unit ?? null);
}

function bars(table: Table, choice: ChartChoice & { readonly kind: "bar" | "stacked_bar" }): AnswerChart {
  const { x, y, rows, lines, other, remarks } = partsOf(table, choice);
  // A row per bar while no two have the same name: the order is that of the answer.
  const cells = new Map<string, Map<string, number | null>>();
  let isSummed = false;
  for (const row of rows) {
    const name = shownText(row.x, x);
    const values = cells.get(name) ?? new Map<string, number | null>();
    const before = values.get(row.line);
    isSummed ||= before !== undefined && row.line !== other;
    values.set(row.line, typeof before === "number" ? before + (row.y ?? 0) : row.y);
    cells.set(name, values);
  }
  const shown = [...cells].slice(0, MAX_BARS);
  return {
    chart: {
      kind: choice.kind,
      horizontal: x.type === "string",
      categories: shown.map(([name]) => name),
      lines: lines.map((name) => ({ name, values: shown.map(([, values]) => values.get(name) ?? null) })),
      categoryTitle: x.title,
      value: { title: y.title, unit: y.unit },
    },
    remarks: [
      ...remarks,
      ...(isSummed ? [`Rows with the same ${x.title} are added up.`] : []),
      ...(cells.size > MAX_BARS ? [`The first ${MAX_BARS} of ${formatNumber(cells.size)} values of ${x.title} are drawn.`] : []),
    ],
  };
}

function curves(table: Table, choice: ChartChoice & { readonly kind: "line" | "stair" }): AnswerChart {
  const { x, y, rows, lines, remarks } = partsOf(table, choice);
  const points = rows.filter((row): row is typeof row & { readonly x: number } => typeof row.x === "number").toSorted((a, b) => a.x - b.x);
  const omitted = rows.length - points.length;
  // Moments count from somewhere long before: their differences would be lost in the labels.
  const first = points[0]?.x ?? 0;
  const origin = isMoment(x.key) ? first : 0;
  return {
    chart: {
      kind: choice.kind,
      lines: lines.map((name) => {
        const own = points.filter((point) => point.line === name);
        return { name, x: own.map((point) => point.x - origin), y: own.map((point) => point.y) };
      }),
      x: { title: origin === 0 ? x.title : `${x.title} since the first`, unit: x.unit },
      y: { title: y.title, unit: y.unit },
      marks: [],
    },
    remarks: [...remarks, ...(origin === 0 ? [] : [`The first ${x.title} is ${exactValue(origin, x.unit)}.`]), ...(omitted > 0 ? [`${omitted === 1 ? "1 row has" : `${formatNumber(omitted)} rows have`} no ${x.title} and ${omitted === 1 ? "is" : "are"} not drawn.`] : [])],
  };
}
