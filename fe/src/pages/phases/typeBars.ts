/** The time of each type of events as bars, coloured by side. */
import type { Table } from "../../api/types";
import { barsByKind } from "../../chart/chartData";
import type { CategoryChart } from "../../chart/types";
import { topRows, textOf } from "../../lib/rows";

const TIME = "time_us";

/** More types than these are in the table only. */
export const MOST_TYPES = 20;

export function typeBars(table: Table): CategoryChart {
  const top = topRows(table, TIME, MOST_TYPES);
  const column = table.columns.find(({ key }) => key === TIME);
  return {
    // Each bar has one side; "stacked" aligns the bars of both.
    kind: "stacked_bar",
    horizontal: true,
    categories: top.map(({ row }) => textOf(table, row, "type")),
    lines: barsByKind(top, (row) => textOf(table, row, "side")),
    categoryTitle: "",
    value: { title: column?.title ?? "", unit: column?.unit ?? null },
  };
}
