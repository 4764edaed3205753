import { expect, it } from "vitest";

import type { Row, Table } from "../../api/types";
import { PLAIN_COLUMN, PLAIN_TABLE } from "../../lib/columns";
import { hiddenByDefault } from "./hiddenColumns";

const KEYS = ["phase", "baseline_names", "baseline_host_total_us", "delta_host_total_pct", "baseline_device_total_us", "delta_kernel_pct"];

/** The columns one sees at first. */
function shown(...rows: Row[]): string[] {
  const columns = KEYS.map((key) => ({ key, title: key, type: "string" as const, unit: null, help: "", ...PLAIN_COLUMN }));
  const table: Table = { title: "", help: "", columns, rows: rows.map((row) => [...row]), row_count: rows.length, null_reasons: {}, sort: "", ...PLAIN_TABLE };
  return KEYS.filter((key) => !hiddenByDefault(table)(key));
}

it("shows device times, and host times where there is no device work", () => {
  expect(shown(["Backward", "x", 5, 1, 7, null], ["Forward", "x", 5, 1, null, null])).toEqual(["phase", "baseline_device_total_us"]);
  expect(shown(["Backward", "x", 5, 1, null, null], ["Forward", "x", 5, 1, 0, null])).toEqual([
    "phase",
    "baseline_host_total_us",
    "delta_host_total_pct",
    "baseline_device_total_us",
  ]);
});
