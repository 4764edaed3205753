import { expect, it } from "vitest";

import type { Column } from "../api/types";
import { PLAIN_COLUMN } from "../lib/columns";
import { measuresFirst } from "./columnOrder";
import type { ColumnView } from "./columnView";

function view(key: string, width: number, rest: Partial<Column> = {}): ColumnView {
  return { column: { key, title: key, type: "number", unit: "us", help: "", ...PLAIN_COLUMN, ...rest }, width } as unknown as ColumnView;
}

const text = (key: string, width: number) => view(key, width, { type: "string", unit: null });
const sum = (key: string) => view(key, 80, { additive: true });
const share = (key: string) => view(key, 80, { unit: "pct", additive: key === "total_pct" });
const order = (views: readonly ColumnView[], main: string | null = null) => measuresFirst(views, main).map(({ column }) => column.key);

it("puts measures before wide descriptions", () => {
  const launch = [text("name", 400), text("operator", 200), text("grid", 90), sum("calls"), sum("total_us"), view("mean_us", 80), view("occupancy_pct", 80, { unit: "pct" }), sum("gaps_us")];
  expect(order(launch)).toEqual(["name", "calls", "total_us", "mean_us", "operator", "grid", "occupancy_pct", "gaps_us"]);
});

it("does not move narrow columns, nor the names of rows", () => {
  expect(order([text("step", 80), text("worker", 150), sum("computation_us")])).toEqual(["step", "worker", "computation_us"]);
  expect(order([text("device", 80), text("name", 400), sum("calls")])).toEqual(["device", "name", "calls"]);
  expect(order([text("name", 80), text("reason", 900), view("start_us", 80)])).toEqual(["name", "reason", "start_us"]);
});

it("puts shares after the quantity they divide", () => {
  const kernels = [text("name", 400), view("used", 90, { type: "boolean", unit: null }), sum("calls"), sum("total_us"), view("mean_us", 80), share("total_pct"), share("cumulative_pct")];
  expect(order(kernels, "total_us")).toEqual(["name", "used", "calls", "total_us", "total_pct", "cumulative_pct", "mean_us"]);
  expect(order([text("name", 400), sum("self_us"), sum("calls"), share("self_pct")])).toEqual(["name", "self_us", "self_pct", "calls"]);
});

it("puts arguments of events after the measures", () => {
  const kernels = [text("name", 400), sum("calls"), sum("total_us"), view("mean_us", 80), view("blocks", 80, { unit: null }), view("arg_queued_mean", 80, { unit: null }), view("arg_note", 80, { type: "string", unit: null })];
  expect(order(kernels)).toEqual(["name", "calls", "total_us", "mean_us", "arg_queued_mean", "arg_note", "blocks"]);
  expect(order([text("name", 400), view("arg_note", 80, { unit: null })])).toEqual(["name", "arg_note"]);
});

it("does not move columns that are compared side by side", () => {
  expect(order([text("name", 400), text("shape", 400), sum("baseline_us"), sum("delta_us")])).toEqual(["name", "shape", "baseline_us", "delta_us"]);
});

it("puts a name before the times that precede it in the answer", () => {
  expect(order([view("calls", 80, { unit: "count" }), view("cpu_us", 80), text("name", 200), text("kind", 80)])).toEqual(["name", "calls", "cpu_us", "kind"]);
  expect(order([view("gpu", 80, { unit: null }), text("name", 200)])).toEqual(["gpu", "name"]);
});
