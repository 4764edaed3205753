/** The label of an operator's bar: its name, and what distinguishes rows of finer groupings. */
import type { Row, Table } from "../../api/types";
import { textOf } from "../../lib/rows";
import { OPERATOR_NAME } from "../../lib/shorten";
import { parseFrame, splitStack } from "../../source/editor";

/** "aten::conv2d [[8, 3, 32, 32]] · Conv2d_0" */
export function operatorLabel(table: Table, row: Row): string {
  // Scalars are empty brackets; trailing ones are omitted.
  const shape = textOf(table, row, "input_shape").replace(/(, \[\])+\]$/, "]");
  const location = callSite(textOf(table, row, "call_stack"));
  return `${textOf(table, row, "name")} ${shape}`.trim() + (location === null ? "" : ` · ${location}`);
}

/** "/ResNet_0/Conv2d_3/aten::conv2d/aten::convolution" → "aten::convolution · Conv2d_3": the operator at a path, and the module or range around it. */
export function shortPath(path: string): string {
  const names = path.split("/").filter((name) => name !== "");
  const ownName = names.pop() ?? path;
  const location = names.findLast((name) => !OPERATOR_NAME.test(name));
  return location === undefined ? ownName : `${ownName} · ${location}`;
}

/** The calling module, else the innermost frame outside PyTorch. */
function callSite(stack: string): string | null {
  const frames = splitStack(stack);
  const module = frames.find((frame) => frame.startsWith(MODULE));
  if (module !== undefined) return module.slice(MODULE.length);
  const ownName = frames.flatMap((frame) => parseFrame(frame) ?? []).find(({ source }) => !/(^|[\\/])torch[\\/]/.test(source.path));
  return ownName === undefined ? null : `${ownName.source.path}:${ownName.source.line}`;
}

const MODULE = "nn.Module: ";
