/** Cases: free space, missing space, chosen widths. */
import { expect, it } from "vitest";

import type { Column } from "../api/types";
import { PLAIN_COLUMN } from "../lib/columns";
import { widthsOf } from "./columnLayout";
import type { ColumnView } from "./columnView";

function view(key: string, type: Column["type"], width: number, idealWidth = width): ColumnView {
  const column: Column = { key, title: key, type, unit: null, help: "", ...PLAIN_COLUMN };
  return { column, index: 0, scale: { divisor: 1, label: "" }, digits: 0, numeric: type !== "string", nullReason: null, bounds: () => null, width, idealWidth, shown: () => null, names: null };
}

const VIEWS = [view("name", "string", 400, 900), view("stack", "string", 300, 350), view("calls", "integer", 20)];
const widths = (roomPx: number, chosen: Record<string, number> = {}) => [...widthsOf(VIEWS, new Map(Object.entries(chosen)), roomPx).values()];

it("gives free space to the texts that need it, the widest first", () => {
  expect(widths(748)).toEqual([400, 300, 48]);
  expect(widths(1000)).toEqual([652, 300, 48]);
  expect(widths(5000)).toEqual([900, 350, 48]);
});

it("takes missing space from them, down to what can be read", () => {
  expect(widths(700)).toEqual([400, 252, 48]);
  expect(widths(600)).toEqual([400, 160, 48]);
  expect(widths(560)).toEqual([400, 160, 48]);
  // On a phone a number stays beside the name.
  expect(widths(360)).toEqual([162, 160, 48]);
  expect(widths(100)).toEqual([48, 48, 48]);
});

it("does not change chosen widths", () => {
  expect(widths(1000, { name: 90, calls: 60 })).toEqual([90, 350, 60]);
});
