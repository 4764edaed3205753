import { describe, expect, it } from "vitest";

import type { Column } from "../api/types";
import { formatColumnFilter, parseColumnFilter } from "./columnFilter";
import { PLAIN_COLUMN } from "./columns";
import { formatFilter } from "./grammar";
import { scaleFor } from "./units";

const column = (type: Column["type"], unit: Column["unit"]): Column => ({ key: "x", title: "X", type, unit, help: "", ...PLAIN_COLUMN });
const TIME = column("number", "us");
const BYTES = column("integer", "bytes");
const TEXT = column("string", null);
const MS = scaleFor("us", 5000);

function filter(column: Column, scale: typeof MS, text: string): string {
  const parsed = parseColumnFilter(column, scale, text);
  return "problem" in parsed ? `problem: ${parsed.problem}` : formatFilter(parsed.clauses);
}

describe("a column shown in ms", () => {
  it.each([
    [">100", "x>100000"],
    ["<=0.29", "x<=290"],
    ["5", "x=5000"],
    ["10..20", "x>=10000;x<=20000"],
    ["> 1 204", "x>1204000"],
    [">2s", "x>2000000"],
    [">50us", "x>50"],
    ["-", "x=-"],
    ["!-", "x!=-"],
    ["", ""],
  ])("%s means %s", (text, clauses) => {
    expect(filter(TIME, MS, text)).toBe(clauses);
  });

  it.each(["abc", ">", "1..", "5 apples"])("refuses %s", (text) => {
    expect(filter(TIME, MS, text)).toMatch(/^problem/);
  });

  it.each([">100", "10..20", "5", "<=0.29", "-"])("shows %s again after a reload", (text) => {
    const parsed = parseColumnFilter(TIME, MS, text);
    expect("clauses" in parsed && formatColumnFilter(TIME, MS, parsed.clauses)).toBe(text);
  });
});

it("shows a text that is not a number as it is in the address", () => {
  expect(formatColumnFilter(TIME, MS, [{ key: "x", operator: ">", value: "many" }])).toBe(">many");
});

it("reads sizes", () => {
  expect(filter(BYTES, scaleFor("bytes", 2 ** 31), ">1GB")).toBe(`x>${2 ** 30}`);
  expect(filter(BYTES, scaleFor("bytes", 2 ** 31), ">1.5")).toBe(`x>${1.5 * 2 ** 30}`);
});

describe("a text column", () => {
  it.each([
    ["gemm", "x~gemm"],
    ["!nccl", "x!~nccl"],
    ["=aten::add", "x=aten::add"],
    ["!=a", "x!=a"],
    ["a;b", "x~a\\;b"],
    ["=~^(conv|mm)$", "x=~/^(conv|mm)$/"],
    ["!=~a\\d", "x!=~/a\\\\d/"],
    ["= ~x", "x=\\~x"],
  ])("%s means %s", (text, clauses) => {
    expect(filter(TEXT, MS, text)).toBe(clauses);
    const parsed = parseColumnFilter(TEXT, MS, text);
    expect("clauses" in parsed && formatColumnFilter(TEXT, MS, parsed.clauses)).toBe(text);
  });
});

it("takes yes and no", () => {
  expect(filter(column("boolean", null), MS, "Yes")).toBe("x=yes");
  expect(filter(column("boolean", null), MS, "maybe")).toMatch(/^problem/);
});
