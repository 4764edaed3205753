/** The outcomes of the checks in a sentence. */
import type { Table } from "../api/types";
import { textOf } from "../lib/rows";

/** "18 checks: 2 found, 4 cannot be told, 12 nothing found." */
export function outcomesText(table: Table): string {
  const outcomes = table.rows.map((row) => textOf(table, row, "outcome"));
  const counts = [...new Set(outcomes)].map((outcome) => `${outcomes.filter((each) => each === outcome).length} ${outcome}`);
  return `${outcomes.length} ${outcomes.length === 1 ? "check" : "checks"}: ${counts.join(", ")}.`;
}
