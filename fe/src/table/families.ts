/** Groups of columns that are read together and share one unit. */
import type { Column } from "../api/types";
import { scaleFor } from "../lib/units";

/** A column whose largest value is below this in the unit of its group has a unit of its own: 0.00006 s is hard to read. */
const LEAST_SHOWN = 0.01;

/** Per column the largest of `magnitudes` within its group; of far smaller columns, that of their measure alone. */
export function largestOfFamilies(columns: readonly Column[], magnitudes: readonly number[]): number[] {
  const groups = new Map<string, Set<number>>();
  columns.forEach((column, index) => {
    const keys = [`key ${comparedKey(column)}`, ...(column.family === null ? [] : [`family ${column.unit} ${column.family}`])];
    // A column that belongs to two groups merges them.
    const members = new Set([index, ...keys.flatMap((key) => [...(groups.get(key) ?? [])])]);
    for (const [key, group] of groups) if ([...group].some((member) => members.has(member))) groups.set(key, members);
    for (const key of keys) groups.set(key, members);
  });
  const largestOf = (members: Iterable<number>) => Math.max(...[...members].map((member) => magnitudes[member] ?? 0));
  return columns.map((column) => {
    const key = comparedKey(column);
    const largest = largestOf(groups.get(`key ${key}`) ?? []);
    const own = largestOf(columns.flatMap((each, index) => (comparedKey(each) === key ? [index] : [])));
    return own / scaleFor(column.unit, largest).divisor < LEAST_SHOWN ? own : largest;
  });
}

/** Baseline, candidate and difference of a measure share a key. */
function comparedKey({ key }: Column): string {
  return key.replace(/^(baseline|candidate|delta)_(?!.*_pct$)/, "");
}
