/** Columns of tables that are made in the page. */
import type { Column } from "../api/types";

/** What a column is that declares nothing special. */
export const PLAIN_COLUMN = { estimated: false, family: null, hidden: false, additive: false } as const satisfies Partial<Column>;
