/** What a range holds as tables: its slices by name (a chosen row highlights its name on the tracks), and its counters. */
import { useMemo } from "react";

import type { Row, Table } from "../api/types";
import type { TimelineRangeAnswer } from "../generated/schema";
import { formatNumber } from "../lib/format";
import { textOf } from "../lib/rows";
import { useProfileNames } from "../state/profile";
import { useParams } from "../state/urlStore";
import { DataTable } from "../table/DataTable";
import { Segmented } from "../ui/Segmented";
import { findOnTimeline } from "./link";
import { writeAddress } from "./visit";

const KINDS = ["slices", "counters"] as const;

/** The panel's height without the heading of the table. */
const MAX_HEIGHT = "max(160px, calc(100cqh - 52px))";

export function RangeTable({ summary: { slices, names_left_out: leftOut, counters } }: { readonly summary: TimelineRangeAnswer }) {
  const names = useProfileNames();
  const { find: searched, tables } = useParams() as Record<string, string | undefined>;
  const choice = useMemo(() => {
    const nameOf = (row: Row) => textOf(slices, row, "name");
    const chosen = slices.rows.find((row) => searched === `=${nameOf(row)}`);
    return { id: chosen === undefined ? null : idOf(slices, chosen), onChoose: (row: Row) => writeAddress(findOnTimeline(nameOf(row))) };
  }, [searched, slices]);
  if (slices.row_count === 0 && counters.row_count === 0) return null;
  const kinds = KINDS.filter((kind) => (kind === "slices" ? slices : counters).row_count > 0);
  const kind = kinds.find((each) => each === tables) ?? kinds[0];
  const picker = <Segmented label="Table" values={kinds} value={kind ?? ""} title={(each) => (each === "slices" ? "Slices" : "Counters")} onPick={(each) => writeAddress({ tables: each === "slices" ? null : each })} />;
  if (kind === "counters") {
    return (
      <div className="tl-range-table">
        <DataTable name="range.counters" table={counters} source={null} address="counters_in_range" fileName={["counters_in_range", ...names].join("_")} maxHeight={MAX_HEIGHT} extra={picker} />
      </div>
    );
  }
  return (
    <div className="tl-range-table">
      <DataTable
        name="range.slices"
        table={slices}
        source={null}
        address="in_range"
        fileName={["slices_in_range", ...names].join("_")}
        rowId={(row) => idOf(slices, row)}
        choice={choice}
        maxHeight={MAX_HEIGHT}
        extra={
          <>
            {picker}
            {leftOut > 0 && <span className="soft">{formatNumber(leftOut)} more names with less self time are not listed</span>}
          </>
        }
      />
    </div>
  );
}

/** A name may be one of several kinds. */
function idOf(table: Table, row: Row): string {
  return ["name", "kind", "where"].map((key) => textOf(table, row, key)).join(" ");
}
