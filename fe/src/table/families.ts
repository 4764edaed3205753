/** Which columns of a table are read together and so share one multiple of their unit. */
import type { Column } from "../api/types";

/** By place of the column: the largest of `magnitudes` among those it is read with. */
export function largestOfFamilies(columns: readonly Column[], magnitudes: readonly number[]): number[] {
  const groups = new Map<string, Set<number>>();
  columns.forEach((column, place) => {
    const keys = [`key ${comparedKey(column)}`, ...(column.family === null ? [] : [`family ${column.unit} ${column.family}`])];
    // Both ways of belonging together hold: what belongs to two groups makes them one.
    const members = new Set([place, ...keys.flatMap((key) => [...(groups.get(key) ?? [])])]);
    for (const [key, group] of groups) if ([...group].some((member) => members.has(member))) groups.set(key, members);
    for (const key of keys) groups.set(key, members);
  });
  return columns.map((column) => Math.max(...[...(groups.get(`key ${comparedKey(column)}`) ?? [])].map((member) => magnitudes[member] ?? 0)));
}

/** Baseline, candidate and the difference of one measure are one measure. */
function comparedKey({ key }: Column): string {
  return key.replace(/^(baseline|candidate|delta)_(?!.*_pct$)/, "");
}
