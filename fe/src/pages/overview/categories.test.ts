import { expect, it } from "vitest";

import type { Column, Scalar, Table } from "../../api/types";
import { PLAIN_COLUMN, PLAIN_TABLE } from "../../lib/columns";
import { classParts, hasTensorCoreClasses, matrixUnit, maybeTensorCoreUs, resourceParts, wholeOf, withClassTitles } from "./categories";

const column = (key: string): Column => ({ key, title: key, type: "number", unit: null, help: "", ...PLAIN_COLUMN });
const table = (keys: string[], ...rows: Scalar[][]): Table => ({
  title: "",
  help: "",
  columns: keys.map(column),
  rows,
  row_count: rows.length,
  null_reasons: {},
  sort: "",
  ...PLAIN_TABLE,
});

it("gives resources their titles and colours, and leaves unknown ones unchanged", () => {
  const parts = resourceParts(table(["category", "duration_us", "pct"], ["tensor_core", null, null], ["cpu", 5, 50], ["new", 5, 50]));
  expect(parts.map(({ name, us, pct }) => [name, us, pct])).toEqual([
    ["Tensor Core kernels", null, null],
    ["CPU", 5, 50],
    ["new", 5, 50],
  ]);
  expect(parts[0]?.color).toBe("--cat-tensor-core");
});

it("calls matrix units what the devices call them", () => {
  const classes = table(["class", "gpu_time_us", "gpu_time_pct"], ["using_tensor_cores", 5, 50]);
  const unknown = { ...column("tensor_core_unknown_us"), title: "Cube Use Unknown" };
  const npu = { ...classes, help: "Kernels that use Cube units (matrix products), and others.", columns: [...classes.columns, unknown] };
  expect(matrixUnit(npu)).toBe("Cube");
  expect(classParts(npu)[0]?.name).toBe("Using Cube units");
  expect(withClassTitles(npu).rows[0]?.[0]).toBe("Using Cube units");
  const resources = table(["category", "duration_us", "pct"], ["tensor_core", 5, 50]);
  expect(resourceParts({ ...resources, columns: [...resources.columns, unknown] })[0]?.name).toBe("Cube kernels");
  expect(classParts(classes)[0]?.name).toBe("Using Tensor Cores");
});

it("excludes the total from the parts", () => {
  const classes = table(["class", "gpu_time_us", "gpu_time_pct"], ["all", 9, 100], ["memory", 9, 100]);
  expect(classParts(classes)).toEqual([{ name: "Copies and memsets", us: 9, pct: 100, color: "--cat-memcpy" }]);
  expect(withClassTitles(classes).rows.map((row) => row[0])).toEqual(["All", "Copies and memsets"]);
});

it("shows the bounds of Tensor Core time", () => {
  expect(maybeTensorCoreUs(table(["tensor_core_unknown_us"], [null], [7], [2]))).toBe(7);
  expect(maybeTensorCoreUs(table(["category"], ["cpu"]))).toBe(0);
});

it("has the time of all classes, and sets what could use Tensor Cores apart", () => {
  const classes = table(["class", "gpu_time_us", "gpu_time_pct"], ["all", 9, 100], ["eligible_not_using", 6, 66], ["other", 3, 34]);
  expect(wholeOf(classes)).toBe(9);
  expect(wholeOf(table(["class", "gpu_time_us"]))).toBeNull();
  expect(classParts(classes).map(({ color }) => color)).toEqual(["--mark-wait", "--cat-kernel"]);
  expect(hasTensorCoreClasses(classes)).toBe(true);
});

it("draws no Tensor Core use of devices without Tensor Cores", () => {
  const keys = ["class", "gpu_time_us", "gpu_time_pct"];
  expect(hasTensorCoreClasses(table(keys, ["all", 9, 100], ["using_tensor_cores", null, null], ["eligible_not_using", null, null], ["other", 9, 100]))).toBe(false);
  expect(hasTensorCoreClasses(undefined)).toBe(false);
});
