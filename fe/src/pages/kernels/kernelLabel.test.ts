import { expect, it } from "vitest";

import type { Row, Table } from "../../api/types";
import { PLAIN_COLUMN, PLAIN_TABLE } from "../../lib/columns";
import { kernelLabel, kernelTitle } from "./kernelLabel";

function tableOf(keys: readonly string[], rows: Row[]): Table {
  const columns = keys.map((key) => ({ key, title: key, type: "string" as const, unit: null, help: "", ...PLAIN_COLUMN }));
  return { title: "", help: "", columns, rows: rows.map((row) => [...row]), row_count: rows.length, null_reasons: {}, sort: "", ...PLAIN_TABLE };
}

const label = (...row: Row) => kernelLabel(tableOf(["name", "operator", "grid", "block"], [row]), row, "short");

it("names the grouping of the rows", () => {
  expect(label("void at::native::f<float>(int)", null, null, null)).toBe("at::native::f<float>(int)");
  expect(label("void f<4>", "aten::sum", "[1, 1, 1]", "[32, 4, 1]")).toBe("aten::sum: f<4> <<<1, 32×4>>>");
  expect(label("ncclKernel", "", "[12, 1, 8]", "[640, 1, 1]")).toBe("ncclKernel <<<12×1×8, 640>>>");
});

it("uses the chosen kind of kernel name", () => {
  const row = ["_Z1fIiEvT_", "aten::sum", "f<int>", "void f<int>(int)"];
  const table = tableOf(["name", "operator", "short_name", "demangled_name"], [row]);
  expect(kernelLabel(table, row, "short")).toBe("aten::sum: f<int>");
  expect(kernelLabel(table, row, "demangled")).toBe("aten::sum: f<int>(int)");
  expect(kernelLabel(table, row, "recorded")).toBe("aten::sum: _Z1fIiEvT_");
  expect(kernelTitle(table, row)).toBe("void f<int>(int)\n_Z1fIiEvT_");
});
