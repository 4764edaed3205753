/** Which columns of a comparison one looks at first. */
import type { Table } from "../api/types";

export function hiddenAtFirst(table: Table): (key: string) => boolean {
  return hasDeviceTimes(table) ? isDetailOrHostTotal : isDetail;
}

/** Columns that few look at first: bounds of intervals, calls, and both sides of every category. */
function isDetail(key: string): boolean {
  return (
    /_(low|high)_us$/.test(key) ||
    key === "delta_calls_pct" ||
    /^(baseline|candidate)_(kernel|memcpy|memset|communication|runtime|dataloader|cpu_exec|other)_us$/.test(key) ||
    /^delta_(kernel|memcpy|memset|communication|runtime|dataloader|cpu_exec|other)_pct$/.test(key) ||
    /^(baseline|candidate)_names$/.test(key)
  );
}

/** Beside the times of a device, what the host did meanwhile comes second. */
function isDetailOrHostTotal(key: string): boolean {
  return isDetail(key) || /_host_total_(us|pct)$/.test(key);
}

/** Whether a device did any of it: a recording of the CPU alone has host times only. */
function hasDeviceTimes(table: Table): boolean {
  const places = table.columns.flatMap(({ key }, index) => (/_device_(self|total)_us$/.test(key) ? [index] : []));
  return table.rows.some((row) => places.some((place) => Number(row[place] ?? 0) !== 0));
}
