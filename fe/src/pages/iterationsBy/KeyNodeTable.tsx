/** The table of what could cut the trace: one click takes it. */
import type { Query } from "../../api/client";
import type { Table } from "../../api/types";
import { textOf } from "../../lib/rows";
import { visibleText } from "../../lib/visibleText";
import { parseCut, type Cut } from "../../state/iterationsBy";
import { useParams } from "../../state/urlStore";
import { DataTable } from "../../table/DataTable";
import { KEY_NODES } from "./useKeyNodes";

/** The reason speaks of them. */
const HIDDEN = ["first_start_us", "interval_stddev_us"];

interface Props {
  readonly table: Table;
  readonly query: Query;
  /** Whether iterations begin where the chosen one starts, not where it ends. */
  readonly atStart: boolean;
  readonly onTake: (cut: Cut) => void;
}

export function KeyNodeTable({ table, query, atStart, onTake }: Props) {
  const now = parseCut(useParams()["iterations_by"]);
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
