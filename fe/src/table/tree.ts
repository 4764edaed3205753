/** Rows of a tree, flattened in drawing order. */
import type { Row, Table } from "../api/types";

type TreeKeys = NonNullable<Table["tree"]>;

export interface TreeItem {
  readonly row: Row;
  readonly id: string;
  readonly depth: number;
  readonly hasChildren: boolean;
  /** Position among the children of its parent, from 1, and their number. */
  readonly position: number;
  readonly siblings: number;
}

/** Indentation per level. */
export const INDENT_PX = 14;

/** The tree of all rows of a table, independent of filters. */
export class Tree {
  private readonly rowsById = new Map<string, Row>();
  private readonly parents = new Map<string, string | null>();
  private readonly idIndex: number;

  constructor(table: Table, keys: TreeKeys) {
    this.idIndex = table.columns.findIndex((column) => column.key === keys.id);
    const parentIndex = table.columns.findIndex((column) => column.key === keys.parent);
    for (const row of table.rows) {
      const id = this.idOf(row);
      const parent = row[parentIndex];
      this.rowsById.set(id, row);
      this.parents.set(id, parent === null || parent === undefined ? null : String(parent));
    }
  }

  idOf(row: Row): string {
    return String(row[this.idIndex]);
  }

  /** Number of ancestors of a row. */
  depthOf(row: Row): number {
    const above = new Set<string>();
    let parent = this.parents.get(this.idOf(row)) ?? null;
    while (parent !== null && this.rowsById.has(parent) && !above.has(parent)) {
      above.add(parent);
      parent = this.parents.get(parent) ?? null;
    }
    return above.size;
  }

  /**
   * The rows to draw, parents before children. `matching` are the rows that pass the filters, in order; their
   * ancestors are shown too.
   */
  flatten(matching: readonly Row[], isOpen: (id: string) => boolean): TreeItem[] {
    const { children, roots } = this.childrenOf(matching);
    const items: TreeItem[] = [];
    const entries = (rows: readonly Row[], depth: number) => rows.map((row, index) => ({ row, depth, position: index + 1, siblings: rows.length })).reverse();
    const stack = entries(roots, 0);
    for (let entry = stack.pop(); entry !== undefined; entry = stack.pop()) {
      const id = this.idOf(entry.row);
      const childRows = children.get(id) ?? [];
      items.push({ ...entry, id, hasChildren: childRows.length > 0 });
      if (!isOpen(id)) continue;
      for (const child of entries(childRows, entry.depth + 1)) stack.push(child);
    }
    return items;
  }

  private childrenOf(matching: readonly Row[]): { children: Map<string, Row[]>; roots: Row[] } {
    const shown = new Set<string>();
    const ordered: Row[] = [];
    for (const match of matching) {
      // Up to the first ancestor that is shown already, whose ancestors are shown too.
      let id: string | null = this.idOf(match);
      let row = this.rowsById.get(id);
      while (id !== null && row !== undefined && !shown.has(id)) {
        shown.add(id);
        ordered.push(row);
        id = this.parents.get(id) ?? null;
        row = id === null ? undefined : this.rowsById.get(id);
      }
    }
    const children = new Map<string, Row[]>();
    const roots: Row[] = [];
    for (const row of ordered) {
      const parent = this.parents.get(this.idOf(row)) ?? null;
      if (parent === null || !shown.has(parent)) roots.push(row);
      else pushTo(children, parent, row);
    }
    return { children, roots };
  }
}

function pushTo(lists: Map<string, Row[]>, key: string, row: Row): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [row]);
  else list.push(row);
}
