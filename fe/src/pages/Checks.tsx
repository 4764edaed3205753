/** The checks behind the findings: their outcomes in a sentence, and on demand the table of all. */
import { useState } from "react";

import type { Table } from "../api/types";
import { textOf } from "../lib/rows";
import { useProfileNames } from "../state/profile";
import { DataTable } from "../table/DataTable";

interface Props {
  readonly table: Table;
  /** Codes of the findings, of which some mean several issues, and some are none. */
  readonly findings: readonly string[];
}

export function Checks({ table, findings }: Props) {
  const [open, setOpen] = useState(false);
  const names = useProfileNames();
  if (table.row_count === 0) return null;
  return (
    <>
      <p className="checked soft">
        {outcomesText(table, findings)}{" "}
        <button type="button" className="frame-link" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Hide checks" : "Show checks"}
        </button>
      </p>
      {open && (
        <div className="checked-rows">
          <DataTable name="checked" table={table} source={null} fileName={["checked", ...names].join("_")} hiddenColumns={HIDDEN} maxHeight="480px" />
        </div>
      )}
    </>
  );
}

/** For scripts, or in the findings already. */
const HIDDEN = ["code", "measured"];

/** "Checks: 6 issues in 4 findings, 25 passed, 22 need data this recording lacks." */
export function outcomesText(table: Table, findings: readonly string[]): string {
  const outcomes = table.rows.map((row) => textOf(table, row, "outcome"));
  const count = (outcome: string) => outcomes.filter((each) => each === outcome).length;
  const parts = [
    [count("issue"), "issue", "issues"],
    [count("passed"), "passed", "passed"],
    [count("not enough data"), "needs data this recording lacks", "need data this recording lacks"],
  ] as const;
  // Issues about the same time are one finding.
  const issues = new Set(table.rows.filter((row) => textOf(table, row, "outcome") === "issue").map((row) => textOf(table, row, "code")));
  const own = findings.filter((code) => issues.has(code)).length;
  const within = (outcome: string) => (outcome.startsWith("issue") && own > 0 && own < issues.size ? ` in ${own} ${own === 1 ? "finding" : "findings"}` : "");
  const shown = parts.filter(([number]) => number > 0).map(([number, one, several]) => `${number} ${number === 1 ? one : several}${within(several)}`);
  return `Checks: ${shown.join(", ")}.`;
}
