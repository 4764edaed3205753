/** The checks under the findings: how many of each outcome, and on demand the table of all of them. */
import { useState } from "react";

import type { Table } from "../api/types";
import { DataTable } from "../table/DataTable";
import { outcomesText } from "./outcomes";

export function Checked({ table }: { readonly table: Table }) {
  const [open, setOpen] = useState(false);
  if (table.row_count === 0) return null;
  return (
    <>
      <p className="checked soft">
        {outcomesText(table)}{" "}
        <button type="button" className="frame-link" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Hide checks" : "Show checks"}
        </button>
      </p>
      {open && (
        <div className="checked-rows">
          <DataTable name="checked" table={table} source={null} fileName="checked" hiddenColumns={HIDDEN} maxHeight="480px" />
        </div>
      )}
    </>
  );
}

/** For programs; and what the findings above say themselves. */
const HIDDEN = ["code", "measured"];
