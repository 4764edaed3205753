import { expect, it } from "vitest";

import type { Column, Fact, Table } from "../../api/types";
import { PLAIN_COLUMN, PLAIN_TABLE } from "../../lib/columns";
import { bigFacts } from "./bigFacts";

const fact = (key: string, value: number | null, scope: string | null = "GPU 0"): Fact => ({ key, title: key, value, unit: "pct", scope, help: "", reason: null });
const column = (key: string): Column => ({ key, title: key, type: "number", unit: "pct", help: "", ...PLAIN_COLUMN });
const gpus = (...rows: (number | null)[][]): Table => ({
  title: "",
  help: "",
  columns: ["gpu", "compute_tensor_core_time_pct", "compute_tensor_core_time_min_pct", "compute_tensor_core_time_max_pct"].map(column),
  rows,
  row_count: rows.length,
  null_reasons: {},
  sort: "",
  ...PLAIN_TABLE,
});
const keys = (facts: Fact[]) => bigFacts({ facts, tables: {} }).map((each) => each.fact.key);

it("selects the headline figures and excludes the environment", () => {
  expect(keys([fact("step_count", 3, null), fact("event_count", 5, null), fact("gpu_utilization_pct", 50)])).toEqual(["step_count", "gpu_utilization_pct"]);
});

it("shows the share of compute time, or of kernel time from an older server", () => {
  expect(keys([fact("tensor_core_time_pct", 6), fact("compute_tensor_core_time_pct", 24)])).toEqual(["compute_tensor_core_time_pct"]);
  expect(keys([fact("tensor_core_time_pct", 6)])).toEqual(["tensor_core_time_pct"]);
});

it("shows the utilization without communication where it differs", () => {
  expect(keys([fact("gpu_utilization_pct", 96.5), fact("gpu_compute_utilization_pct", 34.2)])).toHaveLength(2);
  expect(keys([fact("gpu_utilization_pct", 55.52), fact("gpu_compute_utilization_pct", 55.49)])).toEqual(["gpu_utilization_pct"]);
  expect(keys([fact("gpu_utilization_pct", null), fact("gpu_compute_utilization_pct", null)])).toEqual(["gpu_utilization_pct"]);
});

it("shows a value known by its bounds as a range, of its own GPU", () => {
  const facts = [fact("compute_tensor_core_time_pct", null, "GPU 0"), fact("compute_tensor_core_time_pct", null, "GPU 1"), fact("compute_tensor_core_time_pct", 7, "GPU 2")];
  const tables = { gpus: gpus([0, null, 11.5, 87.7], [1, null, null, null], [2, 7, 7, 7]) };
  expect(bigFacts({ facts, tables }).map(({ bounds: between }) => between?.text ?? null)).toEqual(["11.5–87.7 %", null, null]);
});

it("shows the utilization without communication as a range where it is known by its bounds", () => {
  const columns = ["gpu", "compute_utilization_pct", "compute_utilization_min_pct", "compute_utilization_max_pct"].map(column);
  const tables = { gpus: { ...gpus([0, null, 7.15, 24.71]), columns } };
  const shown = bigFacts({ facts: [fact("gpu_utilization_pct", 45.5), fact("gpu_compute_utilization_pct", null)], tables });
  expect(shown.map(({ bounds: between }) => between?.text ?? null)).toEqual([null, "7.2–24.7 %"]);
  const [ofNpu] = bigFacts({ facts: [fact("gpu_compute_utilization_pct", null, "NPU 0")], tables });
  expect(ofNpu?.bounds?.text).toBe("7.2–24.7 %");
});

it("leaves several GPUs to the table", () => {
  const facts = [fact("step_count", 3, null), ...Array.from({ length: 13 }, (_, gpu) => fact("gpu_utilization_pct", gpu, `GPU ${gpu}`))];
  expect(keys(facts)).toEqual(["step_count"]);
});
