/** The label of a kernel's bar: short, but distinct from the others. */
import type { Row, Table } from "../../api/types";
import { fullNames, namesReader, shownName, type NameMode } from "../../lib/names";
import { textOf } from "../../lib/rows";

/**
 * The name in the chosen mode, with what else the rows are grouped by: the operator before it, the launch
 * configuration after it, in CUDA syntax.
 *
 *     "aten::sum: reduce<128, 4> <<<1, 32×4>>>"
 */
export function kernelLabel(table: Table, row: Row, mode: NameMode): string {
  const names = namesReader(table)?.(row) ?? { recorded: textOf(table, row, "name"), short: null, demangled: null };
  // Every C++ kernel returns void.
  const name = shownName(names, mode).replace(/^void /, "");
  const operator = textOf(table, row, "operator");
  const launch = ["grid", "block"].map((key) => sizes(textOf(table, row, key))).filter((text) => text !== "");
  return [operator === "" ? "" : `${operator}:`, name, launch.length === 0 ? "" : `<<<${launch.join(", ")}>>>`].filter((part) => part !== "").join(" ");
}

/** The full names, for hovering. */
export function kernelTitle(table: Table, row: Row): string {
  const names = namesReader(table)?.(row);
  return names === undefined ? textOf(table, row, "name") : fullNames(names);
}

/** "[32, 4, 1]" → "32×4": trailing sizes of 1 are omitted. */
function sizes(text: string): string {
  const numbers = text.match(/\d+/g) ?? [];
  const last = numbers.findLastIndex((number) => number !== "1");
  return numbers.slice(0, Math.max(1, last + 1)).join("×");
}
