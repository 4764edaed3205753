import { expect, it } from "vitest";

import type { Column, Scalar, Table } from "../../api/types";
import { PLAIN_COLUMN, PLAIN_TABLE } from "../../lib/columns";
import { chosenTimes, timesOf, timesTitle, withTimes } from "./timesShown";

const MEASURES = ["cpu", "gpu", "cpu_overhead", "gpu_idle"];
const TIMES = MEASURES.flatMap((measure) => ["total", "mean", "min", "max"].map((figure) => `${measure}_${figure}_us`));
const column = (key: string): Column => ({ key, title: key, type: "number", unit: "us", help: "", ...PLAIN_COLUMN, hidden: key.endsWith("_min_us") });
const table = (...row: Scalar[]): Table => {
  const columns = ["type", "calls", "pct", ...TIMES].map(column);
  return { title: "", help: "", columns, rows: [row.length === 0 ? columns.map(() => 1) : row], row_count: 1, null_reasons: {}, sort: "", ...PLAIN_TABLE };
};
const shown = ({ columns }: Table) => columns.filter(({ hidden }) => !hidden).map(({ key }) => key);

it("shows the totals, or every figure of one measure", () => {
  expect(shown(withTimes(table(), "total"))).toEqual(["type", "calls", "pct", ...MEASURES.map((measure) => `${measure}_total_us`)]);
  expect(shown(withTimes(table(), "gpu"))).toEqual(["type", "calls", "pct", "gpu_total_us", "gpu_mean_us", "gpu_min_us", "gpu_max_us"]);
});

it("shows all sixteen beside what names them", () => {
  expect(shown(withTimes(table(), "all"))).toEqual(["type", "calls", ...TIMES]);
});

it("offers measures with values, and reads the address", () => {
  expect(timesOf(table())).toEqual(["total", "cpu", "gpu", "cpu_overhead", "gpu_idle", "all"]);
  const onHost = ["mm", 1, 1, ...TIMES.map((key) => (key.startsWith("cpu") ? 1 : null))];
  expect(timesOf(table(...onHost))).toEqual(["total", "cpu", "cpu_overhead", "all"]);
  expect(timesOf(table("mm", 1, 1, ...TIMES.map(() => null)))).toEqual([]);
  expect([chosenTimes(undefined), chosenTimes("gpu_idle"), chosenTimes("toString"), chosenTimes("x")]).toEqual(["total", "gpu_idle", "total", "total"]);
  const titles = (title: string) => ["cpu_overhead", "gpu", "gpu_idle"].map((times) => timesTitle(times, { columns: [{ ...column("gpu_total_us"), title }] }));
  expect(titles("GPU Total")).toEqual(["CPU overhead", "GPU", "GPU idle"]);
  expect(titles("NPU Total")).toEqual(["CPU overhead", "NPU", "NPU idle"]);
});
