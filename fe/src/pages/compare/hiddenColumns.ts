/** Which columns of a comparison are hidden by default. */
import type { Table } from "../../api/types";

export function hiddenByDefault(table: Table): (key: string) => boolean {
  const isHidden = hasDeviceTimes(table) ? isDetailOrHostTotal : isDetail;
  const isUnpaired = withoutPairs(table);
  return (key) => isHidden(key) || isUnpaired(key);
}

/** Pairs of names where no row has one. */
export function withoutPairs(table: Table): (key: string) => boolean {
  const index = table.columns.findIndex(({ key }) => key === "paired_with");
  const hasPairs = index >= 0 && table.rows.some((row) => row[index] !== null);
  return (key) => !hasPairs && PAIR_COLUMNS.includes(key);
}

const PAIR_COLUMNS = ["third_paired_with", "paired_with", "pair_confidence_pct", "pair_reason"];

/** Details: bounds of intervals, calls, and both sides of every category. */
function isDetail(key: string): boolean {
  return (
    /_(low|high)_us$/.test(key) ||
    /^delta_(third_)?calls_pct$/.test(key) ||
    /^(baseline|candidate|third)_(kernel|memcpy|memset|communication|runtime|dataloader|cpu_exec|other)_us$/.test(key) ||
    /^delta_(third_)?(kernel|memcpy|memset|communication|runtime|dataloader|cpu_exec|other)_pct$/.test(key) ||
    /^(baseline|candidate)_names$/.test(key)
  );
}

/** Next to device times, host times are details too. */
function isDetailOrHostTotal(key: string): boolean {
  return isDetail(key) || /_host_total_(us|pct)$/.test(key);
}

/** Whether there are device times: a CPU-only recording has none. */
function hasDeviceTimes(table: Table): boolean {
  const indexes = table.columns.flatMap(({ key }, index) => (/_device_(self|total)_us$/.test(key) ? [index] : []));
  return table.rows.some((row) => indexes.some((index) => Number(row[index] ?? 0) !== 0));
}
