import { expect, it } from "vitest";

import type { Table } from "../../api/types";
import { PLAIN_COLUMN, PLAIN_TABLE } from "../../lib/columns";
import { operatorLabel, shortPath } from "./operatorLabel";

/** The label of an operator with these cells. */
function label(cells: Record<string, string>): string {
  const columns = Object.keys(cells).map((key) => ({ key, title: key, type: "string" as const, unit: null, help: "", ...PLAIN_COLUMN }));
  const row = Object.values(cells);
  const table: Table = { title: "", help: "", columns, rows: [row], row_count: 1, null_reasons: {}, sort: "", ...PLAIN_TABLE };
  return operatorLabel(table, row);
}

it("is the name, and the shape without scalars", () => {
  expect(label({ name: "aten::add" })).toBe("aten::add");
  expect(label({ name: "aten::add", input_shape: "[[2, 3], [2, 3], [], []]" })).toBe("aten::add [[2, 3], [2, 3]]");
});

it("names the module that calls it, else the line outside of PyTorch", () => {
  const inTorch = "<built-in method conv2d>;torch/nn/modules/conv.py(546): _conv_forward";
  expect(label({ name: "aten::conv2d", call_stack: `${inTorch};nn.Module: Conv2d_0;nn.Module: Block_1` })).toBe("aten::conv2d · Conv2d_0");
  expect(label({ name: "aten::conv2d", call_stack: `${inTorch};/venv/torch/a.py(1): f;src/train.py(12): step;main.py(3): g` })).toBe("aten::conv2d · src/train.py:12");
  expect(label({ name: "aten::conv2d", call_stack: inTorch })).toBe("aten::conv2d");
});

it("names the operator of a path, and the module it is in", () => {
  expect(shortPath("/aten::linear")).toBe("aten::linear");
  expect(shortPath("/Net_0/aten::linear(2)")).toBe("aten::linear(2) · Net_0");
  expect(shortPath("/Net_0/Block_1/Linear_3/aten::linear/aten::addmm")).toBe("aten::addmm · Linear_3");
  expect(shortPath("/Linear_3/aten::addmm/AddmmBackward0/aten::mm(2)")).toBe("aten::mm(2) · Linear_3");
});
