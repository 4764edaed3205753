/** The table of operators and ranges that can split the trace; a click chooses one. */
import type { Query } from "../../api/client";
import type { Table } from "../../api/types";
import { textOf } from "../../lib/rows";
import { visibleText } from "../../lib/visibleText";
import { parseIterationsBy, type IterationsBy } from "../../state/iterationsBy";
import { useParams } from "../../state/urlStore";
import { DataTable } from "../../table/DataTable";
import { KEY_NODES } from "./useKeyNodes";

/** The reason has them. */
const HIDDEN = ["first_start_us", "interval_stddev_us"];

interface Props {
  readonly table: Table;
  readonly query: Query;
  /** Whether the boundary is at the start of the chosen calls, not at their end. */
  readonly atStart: boolean;
  readonly onTake: (iterationsBy: IterationsBy) => void;
}

export function KeyNodeTable({ table, query, atStart, onTake }: Props) {
  const now = parseIterationsBy(useParams()["iterations_by"]);
  const chosen = now !== null && "name" in now ? now.name : null;
  return (
    <DataTable
      name={KEY_NODES}
      table={table}
      source={{ view: "iterations", table: KEY_NODES, query }}
      fileName={KEY_NODES}
      rowId={(row) => textOf(table, row, "name")}
      choice={{ id: chosen, onChoose: (row) => onTake({ kind: atStart ? "start" : "name", name: textOf(table, row, "name") }) }}
      hiddenColumns={HIDDEN}
      detail={(row) => <p>{visibleText(textOf(table, row, "reason"))}</p>}
      maxHeight="46vh"
    />
  );
}
