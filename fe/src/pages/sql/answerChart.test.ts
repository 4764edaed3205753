import { expect, it } from "vitest";

import type { Column, Row, Table } from "../../api/types";
import { isCurve } from "../../chart/types";
import { PLAIN_COLUMN, PLAIN_TABLE } from "../../lib/columns";
import { answerChart, chartChoice, defaultChart } from "./answerChart";

function column(key: string, type: Column["type"], unit: Column["unit"] = null): Column {
  return { key, title: key, type, unit, help: "", ...PLAIN_COLUMN };
}

function table(columns: Column[], rows: Row[]): Table {
  return { title: "Answer", help: "", columns, rows: rows.map((row) => [...row]), row_count: rows.length, null_reasons: {}, sort: "", ...PLAIN_TABLE };
}

const KERNELS = table(
  [column("name", "string"), column("calls", "integer", "count"), column("total_ns", "integer", "ns")],
  [
    ["gemm", 3, 300],
    ["copy", 1, 20],
    ["gemm", 2, 100],
    ["none", 0, null],
  ],
);

it("draws by default what has a unit, over the names", () => {
  expect(defaultChart(KERNELS)).toEqual({ x: "name", y: "total_ns", by: null, kind: "bar" });
});

it("takes no number for a measure that names something", () => {
  const rows: Row[] = [["s0", 1, 7, 5], ["s1", 2, 7, 9]];
  expect(defaultChart(table([column("step", "string"), column("id", "integer"), column("device", "integer"), column("n", "integer")], rows))).toMatchObject({ x: "step", y: "n" });
  // Where there is nothing else, it is drawn all the same.
  expect(defaultChart(table([column("device", "integer")], [[1]]))).toMatchObject({ x: "device", y: "device" });
  expect(defaultChart(table([column("name", "string")], [["a"]]))).toBeNull();
});

it("draws many moments as a curve, few as bars", () => {
  const samples = (count: number) => table([column("metric", "string"), column("at_ns", "integer", "ns"), column("value", "number")], Array.from({ length: count }, (_, at): Row => [at % 2 === 0 ? "power" : "clock", at, at * at]));
  expect(defaultChart(samples(100))).toEqual({ x: "at_ns", y: "value", by: "metric", kind: "line" });
  expect(defaultChart(samples(4))).toMatchObject({ x: "metric", y: "value", kind: "bar" });
});

it("splits bars that have several rows by what distinguishes these", () => {
  const threads = table([column("thread", "string"), column("category", "string"), column("self_ns", "integer", "ns")], [["1", "operator", 5], ["1", "runtime", 3], ["2", "operator", 1]]);
  const choice = defaultChart(threads);
  expect(choice).toEqual({ x: "thread", y: "self_ns", by: "category", kind: "stacked_bar" });
  if (choice === null) throw new Error("no chart");
  expect(answerChart(threads, choice).chart).toMatchObject({
    categories: ["1", "2"],
    lines: [{ name: "operator", values: [5, 1] }, { name: "runtime", values: [3, null] }],
  });
});

it("splits by the column with the fewest values", () => {
  const rows: Row[] = ["1", "2", "3"].flatMap((thread): Row[] => [["p", thread, "operator", 5], ["p", thread, "runtime", 3]]);
  expect(defaultChart(table([column("process", "string"), column("thread", "string"), column("category", "string"), column("self_ns", "integer", "ns")], rows))?.by).toBe("category");
});

it("adds up rows of one name and says so; null alone stays null", () => {
  const { chart, remarks } = answerChart(KERNELS, { x: "name", y: "total_ns", by: null, kind: "bar" });
  expect(chart).toMatchObject({ kind: "bar", horizontal: true, categories: ["gemm", "copy", "none"], lines: [{ name: "total_ns", values: [400, 20, null] }], value: { unit: "ns" } });
  expect(remarks).toEqual(["Rows with the same name are added up."]);
});

it("sorts a curve by its x, leaves out rows without one, and says so", () => {
  const points = table([column("offset", "integer", "ns"), column("value", "number")], [[3, 30], [null, 7], [1, 10], [2, null]]);
  const { chart, remarks } = answerChart(points, { x: "offset", y: "value", by: null, kind: "stair" });
  expect(isCurve(chart) && chart.lines).toEqual([{ name: "value", x: [1, 2, 3], y: [10, null, 30] }]);
  expect(remarks).toEqual(["1 row has no offset and is not drawn."]);
});

it("counts moments from the first one, and says which that is", () => {
  const points = table([column("at_ns", "integer", "ns"), column("value", "number")], [[4_369_110_000_000_003, 30], [4_369_110_000_000_001, 10]]);
  const { chart, remarks } = answerChart(points, { x: "at_ns", y: "value", by: null, kind: "line" });
  expect(isCurve(chart) && [chart.lines[0]?.x, chart.x.title]).toEqual([[0, 2], "at_ns since the first"]);
  expect(remarks.map((remark) => remark.replaceAll("\u202f", " "))).toEqual(["The first at_ns is 4 369 110 000 000 001 ns."]);
});

it("draws no more bars and colours than can be read, and says so", () => {
  const many = table([column("name", "string"), column("by", "string"), column("n", "integer")], Array.from({ length: 100 }, (_, at): Row => [`k${at}`, `b${at % 10}`, 100 - at]));
  const { chart, remarks } = answerChart(many, { x: "name", y: "n", by: "by", kind: "bar" });
  if (isCurve(chart)) throw new Error("no bars");
  expect(chart.categories).toHaveLength(40);
  expect(chart.lines.map(({ name }) => name)).toEqual(["b0", "b1", "b2", "b3", "b4", "b5", "b6", "3 others"]);
  // Nothing of a bar is left out: k7 is of b7.
  expect(chart.lines.at(-1)?.values.slice(0, 9)).toEqual([null, null, null, null, null, null, null, 93, 92]);
  expect(remarks).toEqual(["The first 40 of 100 values of name are drawn."]);
  const curve = answerChart(many, { x: "n", y: "n", by: "by", kind: "line" });
  expect([curve.chart.lines.length, curve.remarks]).toEqual([8, ["The 8 of 10 values of by with the largest sums are drawn."]]);
});

it("follows the address as far as the answer has its columns", () => {
  expect(chartChoice(KERNELS, { y: "calls", kind: "stacked_bar", by: "name" })).toEqual({ x: "name", y: "calls", by: "name", kind: "stacked_bar" });
  expect(chartChoice(KERNELS, { x: "gone", y: "name", kind: "<script>", by: "-" })).toEqual({ x: "name", y: "total_ns", by: null, kind: "bar" });
  // No curve over names.
  expect(chartChoice(KERNELS, { kind: "line" })?.kind).toBe("bar");
  expect(chartChoice(KERNELS, { kind: "line", x: "calls" })?.kind).toBe("line");
});
