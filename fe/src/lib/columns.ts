/** Defaults of tables and columns that a page builds itself. */
import type { Column, Table } from "../api/types";

/** The optional properties of a plain column. */
export const PLAIN_COLUMN = { estimated: false, family: null, hidden: false, additive: false } as const satisfies Partial<Column>;

/** The optional properties of a plain table. */
export const PLAIN_TABLE = { tree: null, why_empty: null, help_url: null } as const satisfies Partial<Table>;
