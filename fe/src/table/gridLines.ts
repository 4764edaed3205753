/** What a table draws line by line: every row, and after an open one what it shows. */
import type { Row } from "../api/types";

export interface GridItem {
  readonly row: Row;
  readonly id: string;
  readonly depth: number;
  /** Null when rows of this table never open. */
  readonly expander: "open" | "closed" | "none" | null;
  readonly detailOpen: boolean;
  /** Place among the rows of its parent, from 1, and how many those are. */
  readonly place: number;
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

/** What a screen reader is told of a row that opens, or stands inside one that did. */
export function treeProps(item: GridItem) {
  if (item.expander === null) return {};
  return {
    "aria-level": item.depth + 1,
    "aria-posinset": item.place,
    "aria-setsize": item.siblings,
    ...(item.expander === "none" ? {} : { "aria-expanded": item.expander === "open" }),
  };
}
