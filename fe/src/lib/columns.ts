/** Tables that are made in the page, and their columns. */
import type { Column, Table } from "../api/types";

/** What a column is that declares nothing special. */
export const PLAIN_COLUMN = { estimated: false, family: null, hidden: false, additive: false } as const satisfies Partial<Column>;

/** What a table is that has nothing special. */
export const PLAIN_TABLE = { tree: null, why_empty: null } as const satisfies Partial<Table>;
