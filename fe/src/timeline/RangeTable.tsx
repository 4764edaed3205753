/** The slices of a range by name: sorted, filtered and exported as any other table; a chosen row highlights its name on the tracks. */
import { useMemo } from "react";

import type { Row, Table } from "../api/types";
import type { TimelineRangeAnswer } from "../generated/schema";
import { formatNumber } from "../lib/format";
import { textOf } from "../lib/rows";
import { useProfileNames } from "../state/profile";
import { useParams } from "../state/urlStore";
import { DataTable } from "../table/DataTable";
import { findOnTimeline } from "./link";
import { writeAddress } from "./visit";

export function RangeTable({ summary: { slices, names_left_out: leftOut } }: { readonly summary: TimelineRangeAnswer }) {
  const names = useProfileNames();
  const found = useParams()["find"];
  const choice = useMemo(() => {
    const nameOf = (row: Row) => textOf(slices, row, "name");
    const chosen = slices.rows.find((row) => found === `=${nameOf(row)}`);
    return { id: chosen === undefined ? null : idOf(slices, chosen), onChoose: (row: Row) => writeAddress(findOnTimeline(nameOf(row))) };
  }, [found, slices]);
  if (slices.row_count === 0) return null;
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
        maxHeight="max(160px, calc(100cqh - 52px))"
        extra={leftOut > 0 && <span className="soft">{formatNumber(leftOut)} more names with less self time are not listed</span>}
      />
    </div>
  );
}

/** A name may be one of several kinds. */
function idOf(table: Table, row: Row): string {
  return ["name", "kind", "where"].map((key) => textOf(table, row, key)).join(" ");
}
