import { expect, it } from "vitest";

import type { Column, Row, Table } from "../api/types";
import { PLAIN_COLUMN } from "../lib/columns";
import { hiddenNow, hiddenReasons, plainReason } from "./hiddenColumns";

const column = (key: string, hidden = false): Column => ({ key, title: key, type: "number", unit: "pct", help: "", ...PLAIN_COLUMN, hidden });

function table(columns: readonly Column[], rows: Row[], tree: Table["tree"] = null): Table {
  return { columns, rows, tree, null_reasons: { empty: "Nobody knows." } } as unknown as Table;
}

it("gives a reason for each hidden column", () => {
  const columns = [column("name"), column("median_us", true), column("empty"), column("kind"), column("a_pct"), column("a_min_pct")];
  const reasons = hiddenReasons(["kind"], table(columns, [[1, 2, null, 3, 4, 5]]));
  expect(Object.fromEntries(reasons)).toEqual({
    median_us: "A detail that is rarely needed.",
    empty: "No values here. Nobody knows.",
    kind: "Redundant in this table.",
    a_min_pct: "Shown in the column that it bounds.",
  });
});

it("hides the ids of a tree, which the indentation shows", () => {
  const columns = [column("path"), column("name"), column("parent")];
  expect([...hiddenReasons([], table(columns, [[1, 2, 3]], { id: "path", parent: "parent" })).keys()]).toEqual(["path", "parent"]);
  expect([...hiddenReasons((key) => key === "name", table(columns, [])).keys()]).toEqual(["name"]);
});

it("shows and hides the chosen columns", () => {
  const filled = table([column("name"), column("median_us", true), column("calls")], [[1, 2, 3]]);
  const hidden = (shown: readonly (readonly [string, boolean])[]) => [...hiddenNow(filled, hiddenReasons([], filled), new Map(shown))];
  expect(hidden([])).toEqual(["median_us"]);
  expect(hidden([["median_us", true], ["calls", false], ["gone", false]])).toEqual(["calls"]);
});

it("names the grouping as the page does", () => {
  expect(plainReason("Not grouped by it: use group_by=name+input_shape.")).toBe("Not grouped by it: group by name + input shape.");
  expect(plainReason("Not recorded (with_stack=True).")).toBe("Not recorded (with_stack=True).");
});
