/** Groups of columns that are read together and share one unit. */
import type { Column } from "../api/types";

/** Per column the largest of `magnitudes` within its group. */
export function largestOfFamilies(columns: readonly Column[], magnitudes: readonly number[]): number[] {
  const groups = new Map<string, Set<number>>();
  columns.forEach((column, index) => {
    const keys = [`key ${comparedKey(column)}`, ...(column.family === null ? [] : [`family ${column.unit} ${column.family}`])];
    // A column that belongs to two groups merges them.
    const members = new Set([index, ...keys.flatMap((key) => [...(groups.get(key) ?? [])])]);
    for (const [key, group] of groups) if ([...group].some((member) => members.has(member))) groups.set(key, members);
    for (const key of keys) groups.set(key, members);
  });
  return columns.map((column) => Math.max(...[...(groups.get(`key ${comparedKey(column)}`) ?? [])].map((member) => magnitudes[member] ?? 0)));
}

/** Baseline, candidate and difference of a measure share a key. */
function comparedKey({ key }: Column): string {
  return key.replace(/^(baseline|candidate|delta)_(?!.*_pct$)/, "");
}
