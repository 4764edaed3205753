import { expect, test } from "vitest";

import type { Series, Table } from "../../api/types";
import { rateChart } from "./rateChart";

const SERIES = { x_title: "Time", x_unit: "us", y_title: "Rate", y_unit: "gb_per_s", lines: [{ name: "HtoD", x: [5, 7, 9], y: [1, 0, 2] }, { name: "DtoH", x: [5, 9], y: [1, 0] }] } as unknown as Series;
const KINDS = { columns: [{ key: "kind" }, { key: "limit_gb_per_s" }], rows: [["HtoD", 15.754], ["HtoD", 15.754], ["DtoH", null]] } as unknown as Table;

test("each direction with a known limit shows it once, dashed, over the whole time", () => {
  const chart = rateChart(SERIES, KINDS);
  expect(chart.lines.slice(2)).toEqual([{ name: "limit of HtoD, 15.8 GB/s", x: [5, 9], y: [15.754, 15.754] }]);
  expect(chart.dashed).toEqual(["limit of HtoD, 15.8 GB/s"]);
});
