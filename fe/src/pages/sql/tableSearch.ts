/** Which tables and columns the list shows for a text. */
import type { ColumnPayload, SqlTablePayload } from "../../generated/schema";

export interface ListedTable {
  readonly table: SqlTablePayload;
  /** All of a table that matches itself; else the columns that match. */
  readonly columns: readonly ColumnPayload[];
  /** Whether only its columns match. */
  readonly byColumn: boolean;
}

/** Every word of the text is in the name, title or help; tables that match by their own names come first. */
export function searchTables(tables: readonly SqlTablePayload[], text: string): ListedTable[] {
  const words = text.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const holds = (...parts: readonly string[]) => words.every((word) => parts.some((part) => part.toLowerCase().includes(word)));
  const listed = tables.flatMap((table): ListedTable[] => {
    if (words.length === 0 || holds(table.name, table.title, table.help)) return [{ table, columns: table.columns, byColumn: false }];
    const columns = table.columns.filter(({ key, title, help }) => holds(key, title, help));
    return columns.length === 0 ? [] : [{ table, columns, byColumn: true }];
  });
  return words.length === 0 ? listed : listed.toSorted((a, b) => Number(a.byColumn) - Number(b.byColumn));
}

/** The name that a query needs: short where that means this table. */
export function writtenName({ name, short_name: shortName }: Pick<SqlTablePayload, "name" | "short_name">): string {
  return shortName ?? name;
}
