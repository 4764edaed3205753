// @vitest-environment jsdom
import { QueryClientProvider } from "@tanstack/react-query";
import { act, createElement } from "react";
import { createRoot } from "react-dom/client";
import { expect, it, vi } from "vitest";

import { makeAnswers } from "../api/answers";
import type { Row, Table } from "../api/types";
import { parseFilter, parseSort } from "../lib/grammar";
import { rowsUrl, useRows } from "./useRows";

Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });

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

it("rows of the table before are not those of the next, which comes later", async () => {
  vi.stubGlobal("fetch", vi.fn(() => new Promise(() => undefined)));
  const tableOf = (name: string): Table => ({ key: "kernels", title: "", help: "", columns: [], rows: [[name]], row_count: 2, sort: "-calls", null_reasons: {} }) as unknown as Table;
  const [first, second] = [tableOf("first"), tableOf("second")];
  const state = { ...STATE, filter: [], search: "" };
  const root = createRoot(document.createElement("div"));
  const client = makeAnswers();
  let rows: readonly Row[] = [];
  function Page({ table, run }: { readonly table: Table; readonly run: string }) {
    const shown = useRows(table, { ...SOURCE, query: { run } }, state).rows;
    return createElement("i", { ref: () => void (rows = shown) });
  }
  const show = (table: Table, run: string) =>
    act(async () => {
      root.render(createElement(QueryClientProvider, { client }, createElement(Page, { table, run })));
      await new Promise((done) => setTimeout(done, 5));
    });
  await show(first, "a");
  expect(rows).toEqual([["first"]]);
  // Another run is chosen: its answer is under way, the one before is still shown.
  await show(first, "b");
  await show(second, "b");
  expect(rows).toEqual([["second"]]);
  act(() => root.unmount());
  vi.unstubAllGlobals();
});
