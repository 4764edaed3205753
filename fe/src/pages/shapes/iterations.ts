/** Iterations of the view of shapes, by name, in order. */
import type { View } from "../../api/types";
import { hasColumn, textOf } from "../../lib/rows";

export function iterationsOf({ tables }: View): string[] {
  const table = Object.values(tables).find((each) => each.columns[0]?.key === "iteration" && hasColumn(each, "new_shapes"));
  if (table === undefined) return [];
  return table.rows.map((row) => textOf(table, row, "iteration")).filter((name) => name !== "");
}
