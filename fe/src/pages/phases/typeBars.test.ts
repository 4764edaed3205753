import { describe, expect, it } from "vitest";
import type { Table } from "../../api/types";
import { typeBars } from "./typeBars";

const column = (key: string, type: string, unit: string | null) => ({ key, title: key, type, unit, help: "", estimated: false, family: null, hidden: false, additive: false });

const TABLE = {
  columns: [column("type", "string", null), column("side", "string", null), column("calls", "integer", "count"), column("time_us", "number", "us")],
  rows: [["Operator", "host", 3, 40], ["ProfileStep", "host", 1, 100], ["Kernel", "device", 2, 60]],
  row_count: 3,
} as unknown as Table;

describe("bars of event types", () => {
  it("are the longest first, a line per side", () => {
    const chart = typeBars(TABLE);
    expect(chart.categories).toEqual(["ProfileStep", "Kernel", "Operator"]);
    expect(chart.lines).toEqual([
      { name: "host", values: [100, 0, 40] },
      { name: "device", values: [0, 60, 0] },
    ]);
    expect(chart.value).toEqual({ title: "time_us", unit: "us" });
  });
});
