/** An operator as the label of a bar: its name, and what tells it from its likes when they are grouped finer. */
import type { Row, Table } from "../api/types";
import { textOf } from "../lib/rows";
import { OF_AN_OPERATOR } from "../lib/shorten";
import { parseFrame, splitStack } from "../source/editor";

/** "aten::conv2d [[8, 3, 32, 32]] · Conv2d_0" */
export function operatorLabel(table: Table, row: Row): string {
  // Scalars are empty brackets; the last ones tell nothing.
  const shape = textOf(table, row, "input_shape").replace(/(, \[\])+\]$/, "]");
  const place = callPlace(textOf(table, row, "call_stack"));
  return `${textOf(table, row, "name")} ${shape}`.trim() + (place === null ? "" : ` · ${place}`);
}

/** "/ResNet_0/Conv2d_3/aten::conv2d/aten::convolution" → "aten::convolution · Conv2d_3": an operator of a path, and the module or range it is in. */
export function shortPath(path: string): string {
  const names = path.split("/").filter((name) => name !== "");
  const own = names.pop() ?? path;
  const place = names.findLast((name) => !OF_AN_OPERATOR.test(name));
  return place === undefined ? own : `${own} · ${place}`;
}

/** The module that calls it, else the innermost line that is not of PyTorch itself. */
function callPlace(stack: string): string | null {
  const frames = splitStack(stack);
  const module = frames.find((frame) => frame.startsWith(MODULE));
  if (module !== undefined) return module.slice(MODULE.length);
  const own = frames.flatMap((frame) => parseFrame(frame) ?? []).find(({ source }) => !/(^|[\\/])torch[\\/]/.test(source.path));
  return own === undefined ? null : `${own.source.path}:${own.source.line}`;
}

const MODULE = "nn.Module: ";
