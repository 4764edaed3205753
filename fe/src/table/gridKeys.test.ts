import { expect, it } from "vitest";

import type { ColumnLayout } from "./columnLayout";
import { nextPosition } from "./gridKeys";
import { drawnLines, treeProps, type GridItem } from "./gridLines";

const item = (id: string, depth: number, expander: GridItem["expander"], rest: Partial<GridItem> = {}): GridItem => ({ row: [], id, depth, expander, detailOpen: false, position: 1, siblings: 1, ...rest });
const ITEMS = [item("a", 0, "open"), item("a/x", 1, "closed"), item("a/y", 1, "none"), item("b", 0, "none")];
const LAYOUT = { visible: [{ column: { key: "name" } }, { column: { key: "calls" } }] } as unknown as ColumnLayout;
const from = (key: string, item: number, column = 0) => nextPosition(key, { items: ITEMS, layout: LAYOUT, label: "name" }, { item, column });

it("opens and closes with the arrows, in the column of the opener", () => {
  expect(from("ArrowRight", 1)).toBe("toggle");
  expect(from("ArrowLeft", 0)).toBe("toggle");
  expect(from("ArrowRight", 0)).toEqual({ item: 0, column: 1 });
  expect(from("ArrowRight", 2)).toEqual({ item: 2, column: 1 });
  expect(from("ArrowLeft", 1, 1)).toEqual({ item: 1, column: 0 });
});

it("goes from a row to its parent", () => {
  expect(from("ArrowLeft", 2)).toEqual({ item: 0, column: 0 });
  expect(from("ArrowDown", 2)).toEqual({ item: 3, column: 0 });
  expect(from("x", 2)).toBeUndefined();
});

it("gives each row its level and position", () => {
  expect(treeProps(item("a/y", 1, "closed", { position: 2, siblings: 5 }))).toEqual({ "aria-level": 2, "aria-posinset": 2, "aria-setsize": 5, "aria-expanded": false });
  expect(treeProps(item("a/y", 0, "none"))).not.toHaveProperty("aria-expanded");
  expect(treeProps(item("flat", 0, null))).toEqual({});
});

it("draws the detail of an open row below it", () => {
  const lines = drawnLines([item("a", 0, "open", { detailOpen: true }), item("b", 0, "closed")]);
  expect(lines).toEqual([{ item: 0, detail: false }, { item: 0, detail: true }, { item: 1, detail: false }]);
});
