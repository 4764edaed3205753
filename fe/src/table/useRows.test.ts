import { expect, it } from "vitest";

import { parseFilter, parseSort } from "../lib/grammar";
import { rowsUrl } from "./useRows";

const SOURCE = { view: "kernels", table: "kernels", query: { run: "r" } };
const STATE = { sort: parseSort("-calls"), filter: parseFilter("calls>3"), search: "a=b", open: new Set<string>() };

function asked(url: string): Record<string, string> {
  return Object.fromEntries(new URL(url).searchParams);
}

it("asks for the rows of what is shown", () => {
  const url = rowsUrl(SOURCE, STATE, { offset: 5000 });
  expect(asked(url)).toEqual({ run: "r", table: "kernels", sort: "-calls", filter: "calls>3;a\\=b", offset: "5000" });
});

it("inside a row, of that row", () => {
  const nothing = { ...STATE, sort: [], filter: [], search: "" };
  const source = { ...SOURCE, filter: "name=gemm" };
  expect(asked(rowsUrl(source, nothing))).toMatchObject({ filter: "name=gemm" });
  expect(asked(rowsUrl(source, STATE))).toMatchObject({ filter: "name=gemm;calls>3;a\\=b" });
});
