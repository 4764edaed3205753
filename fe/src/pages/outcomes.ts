/** The outcomes of the checks in a sentence. */
import type { Table } from "../api/types";
import { textOf } from "../lib/rows";

/** "Checks: 6 issues, 25 passed, 22 need data this recording lacks." */
export function outcomesText(table: Table): string {
  const outcomes = table.rows.map((row) => textOf(table, row, "outcome"));
  const count = (outcome: string) => outcomes.filter((each) => each === outcome).length;
  const parts = [
    [count("issue"), "issue", "issues"],
    [count("passed"), "passed", "passed"],
    [count("not enough data"), "needs data this recording lacks", "need data this recording lacks"],
  ] as const;
  const shown = parts.filter(([number]) => number > 0).map(([number, one, several]) => `${number} ${number === 1 ? one : several}`);
  return `Checks: ${shown.join(", ")}.`;
}
