// @vitest-environment jsdom
import { QueryClientProvider, type QueryClient } from "@tanstack/react-query";
import { act, createElement, useEffect } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { createQueryClient } from "../api/queryClient";
import type { Table } from "../api/types";
import { parseFilter, parseSort } from "../lib/grammar";
import { rowsUrl, useRows, type ShownRows } from "./useRows";

Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });

const SOURCE = { view: "kernels", table: "kernels", query: { run: "r" } };
const STATE = { sort: parseSort("-calls"), filter: parseFilter("calls>3"), search: "a=b", searchIsExpression: false, open: new Set<string>() };

function paramsOf(url: string): Record<string, string> {
  return Object.fromEntries(new URL(url).searchParams);
}

it("requests the rows of the shown table", () => {
  const url = rowsUrl(SOURCE, STATE, { offset: 5000 });
  expect(paramsOf(url)).toEqual({ run: "r", table: "kernels", sort: "-calls", filter: "calls>3;a\\=b", offset: "5000" });
});

it("requests the rows inside a row with its key", () => {
  const nothing = { ...STATE, sort: [], filter: [], search: "" };
  const source = { ...SOURCE, filter: "name=gemm" };
  expect(paramsOf(rowsUrl(source, nothing))).toMatchObject({ filter: "name=gemm" });
  expect(paramsOf(rowsUrl(source, STATE))).toMatchObject({ filter: "name=gemm;calls>3;a\\=b" });
});

/** One of two rows. */
function tableOf(name: string): Table {
  return { key: "kernels", title: "", help: "", columns: [], rows: [[name]], row_count: 2, sort: "-calls", null_reasons: {} } as unknown as Table;
}

let root: Root;
let client: QueryClient;
let shown: ShownRows;

function Page({ table, run }: { readonly table: Table; readonly run: string }) {
  const rows = useRows(table, { ...SOURCE, query: { run } }, { ...STATE, filter: [], search: "" });
  useEffect(() => {
    shown = rows;
  });
  return null;
}

const show = (table: Table, run: string) =>
  act(async () => {
    root.render(createElement(QueryClientProvider, { client }, createElement(Page, { table, run })));
    await new Promise((done) => setTimeout(done, 5));
  });

describe("an incomplete table", () => {
  beforeEach(() => {
    root = createRoot(document.createElement("div"));
    client = createQueryClient();
  });
  afterEach(() => {
    act(() => root.unmount());
    vi.unstubAllGlobals();
  });

  it("shows its own rows, also when they arrive late", async () => {
    vi.stubGlobal("fetch", vi.fn(() => new Promise(() => undefined)));
    const [first, second] = [tableOf("first"), tableOf("second")];
    await show(first, "a");
    expect(shown.rows).toEqual([["first"]]);
    // Another run is chosen: its answer is under way, the one before is still shown.
    await show(first, "b");
    await show(second, "b");
    expect(shown.rows).toEqual([["second"]]);
  });

  it("whose next page fails reports it, retains its rows and stops requesting", async () => {
    const failure = { error: { code: "gone", message: "The file is gone.", hint: "" } };
    vi.stubGlobal("fetch", vi.fn(() => Promise.resolve(new Response(JSON.stringify(failure), { status: 404 }))));
    const table = tableOf("first");
    await show(table, "a");
    await act(async () => {
      shown.more?.();
      await new Promise((done) => setTimeout(done, 20));
    });
    await show(table, "a");
    expect(shown).toMatchObject({ rows: [["first"]], problem: "The file is gone.", more: null });
  });
});
