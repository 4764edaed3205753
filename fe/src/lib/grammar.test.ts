/** The grammar must mean the same here and on the server: the cases follow `views/querying.py`. */
import { describe, expect, it } from "vitest";

import type { Column, Row } from "../api/types";
import { PLAIN_COLUMN } from "./columns";
import { formatFilter, formatSort, parseFilter, parseSort } from "./grammar";
import { compileFilter, compileSort, unknownColumns } from "./rowQuery";

const column = (key: string, type: Column["type"]): Column => ({ key, title: key, type, unit: null, help: "", ...PLAIN_COLUMN });
const COLUMNS = [column("name", "string"), column("calls", "integer"), column("used", "boolean"), column("stack", "string")];
const ROWS: Row[] = [
  ["aten::Gemm", 10, true, null],
  ["nccl; a=b\\c", 3, false, "x.py(1): f"],
  ["void f<float>", null, null, "gemm.py(2): g"],
];

function matches(filter: string): number[] {
  const passes = compileFilter(COLUMNS, parseFilter(filter));
  return ROWS.flatMap((row, index) => (passes(row) ? [index] : []));
}

describe("filter", () => {
  it.each([
    ["name~gemm", [0]],
    ["gemm", [0, 2]],
    ["name!~gemm", [1, 2]],
    ["calls>=3", [0, 1]],
    ["calls>3", [0]],
    ["calls<10", [1]],
    ["calls!=10", [1, 2]],
    ["calls=-", [2]],
    ["calls!=-", [0, 1]],
    ["used=yes", [0]],
    ["used=no", [1]],
    ["used!=yes", [1, 2]],
    ["name=ATEN::gemm", [0]],
    ["calls>=3;used=no", [1]],
    ["name~nccl\\; a=b\\\\c", [1]],
    ["f\\<float\\>", [2]],
    ["", [0, 1, 2]],
    [" ; ", [0, 1, 2]],
    ["calls>x", []],
  ])("%s passes rows %j", (filter, rows) => {
    expect(matches(filter)).toEqual(rows);
  });

  it.each(["a;b", "a\\b", "void f<int>(x=1)", "!~", "100% \\; off", "\\"])("survives writing and reading: %s", (value) => {
    const clauses = [
      { key: "name", operator: "~" as const, value },
      { key: null, operator: "~" as const, value },
    ];
    expect(parseFilter(formatFilter(clauses))).toEqual(clauses);
  });
});

describe("sort", () => {
  const order = (sort: string) =>
    [...ROWS].sort(compileSort(COLUMNS, parseSort(sort))).map((row) => ROWS.indexOf(row));

  it("puts nulls last either way", () => {
    expect(order("calls")).toEqual([1, 0, 2]);
    expect(order("-calls")).toEqual([0, 1, 2]);
  });

  it("ignores capitals, and unknown keys", () => {
    expect(order("name")).toEqual([0, 1, 2]);
    expect(order("-name")).toEqual([2, 1, 0]);
    expect(order("nothing,-calls")).toEqual([0, 1, 2]);
  });

  it("survives writing and reading", () => {
    expect(formatSort(parseSort("-device_self_us,name"))).toBe("-device_self_us,name");
    expect(parseSort("")).toEqual([]);
  });
});

it("names unknown columns, once each", () => {
  expect(unknownColumns(COLUMNS, parseFilter("calls>3;gone=1;gone!=2;other~x;text"))).toEqual(["gone", "other"]);
});
