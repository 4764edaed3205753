/** Dispatch and combine of each rank, hidden and exposed, as stacked bars. */
import type { Table } from "../../api/types";
import type { CategoryChart } from "../../chart/types";
import { numberOf, textOf } from "../../lib/rows";

const SIDES = [
  { title: "Dispatch", key: "dispatch" },
  { title: "Combine", key: "combine" },
] as const;

export function exchangeBars(table: Table): CategoryChart {
  const rows = table.rows;
  const values = (key: string) => rows.map((row) => numberOf(table, row, key));
  return {
    kind: "stacked_bar",
    horizontal: false,
    categories: rows.map((row) => {
      const rank = numberOf(table, row, "rank");
      return rank === null ? textOf(table, row, "worker") : String(rank);
    }),
    fullNames: rows.map((row) => textOf(table, row, "worker")),
    lines: SIDES.flatMap(({ title, key }) => {
      const [whole, exposed] = [values(`${key}_us`), values(`${key}_exposed_us`)];
      const hidden = whole.map((value, at) => (value === null ? null : value - (exposed[at] ?? 0)));
      return [
        { name: `${title}, exposed`, values: exposed },
        { name: `${title}, hidden`, values: hidden },
      ];
    }),
    categoryTitle: "Rank",
    value: { title: "Time per step", unit: "us" },
  };
}
