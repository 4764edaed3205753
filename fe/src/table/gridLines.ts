/** The lines of a table: every row, and the detail after an open one. */
import type { Row } from "../api/types";

export interface GridItem {
  readonly row: Row;
  readonly id: string;
  readonly depth: number;
  /** Null when rows of this table cannot be opened. */
  readonly expander: "open" | "closed" | "none" | null;
  readonly detailOpen: boolean;
  /** Position among the rows of its parent, from 1, and their number. */
  readonly position: number;
  readonly siblings: number;
}

export interface DrawnLine {
  readonly item: number;
  readonly detail: boolean;
}

export function drawnLines(items: readonly GridItem[]): DrawnLine[] {
  return items.flatMap((item, index) =>
    item.detailOpen
      ? [
          { item: index, detail: false },
          { item: index, detail: true },
        ]
      : [{ item: index, detail: false }],
  );
}

export function lineKey(items: readonly GridItem[], line: DrawnLine | undefined): string {
  if (line === undefined) return "";
  return line.detail ? `detail of ${items[line.item]?.id ?? ""}` : `row ${line.item}`;
}

/** ARIA properties of a row that can be opened or is inside an open one. */
export function treeProps(item: GridItem) {
  if (item.expander === null) return {};
  return {
    "aria-level": item.depth + 1,
    "aria-posinset": item.position,
    "aria-setsize": item.siblings,
    ...(item.expander === "none" ? {} : { "aria-expanded": item.expander === "open" }),
  };
}
