/** A kernel as the label of a bar: what tells it from the others, in few letters. */
import type { Row, Table } from "../api/types";
import { fullNames, namesReader, shownName, type NameMode } from "../lib/names";
import { textOf } from "../lib/rows";

/**
 * The name that the reader chose, and what else the rows are grouped by: the operator before it, the launch behind
 * it, as CUDA writes one.
 *
 *     "aten::sum: reduce<128, 4> <<<1, 32×4>>>"
 */
export function kernelLabel(table: Table, row: Row, mode: NameMode): string {
  const names = namesReader(table)?.(row) ?? { recorded: textOf(table, row, "name"), short: null, demangled: null };
  // Every C++ kernel is "void".
  const name = shownName(names, mode).replace(/^void /, "");
  const operator = textOf(table, row, "operator");
  const launch = ["grid", "block"].map((key) => sizes(textOf(table, row, key))).filter((text) => text !== "");
  return [operator === "" ? "" : `${operator}:`, name, launch.length === 0 ? "" : `<<<${launch.join(", ")}>>>`].filter((part) => part !== "").join(" ");
}

/** What hovering the bar says: the full names. */
export function kernelTitle(table: Table, row: Row): string {
  const names = namesReader(table)?.(row);
  return names === undefined ? textOf(table, row, "name") : fullNames(names);
}

/** "[32, 4, 1]" → "32×4": sizes of 1 at the end say nothing. */
function sizes(text: string): string {
  const numbers = text.match(/\d+/g) ?? [];
  const last = numbers.findLastIndex((number) => number !== "1");
  return numbers.slice(0, Math.max(1, last + 1)).join("×");
}
