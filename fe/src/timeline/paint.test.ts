import { expect, it } from "vitest";

import { findOnTimeline } from "./link";
import { nameMatcher } from "./paint";

it.each([
  ["ADD", ["add", "add_", "Add", "=add"]],
  ["=Add", ["add", "Add"]],
  ["==add", ["=add"]],
  ["=", ["=add"]],
])("%s finds what the server finds", (search, found) => {
  expect(["add", "add_", "Add", "=add", "mm"].filter(nameMatcher(search))).toEqual(found);
});

it("a row of another view is found by exactly its name", () => {
  const { find } = findOnTimeline("aten::add");
  expect(["aten::add", "aten::add_", "autograd::aten::add"].filter(nameMatcher(find ?? ""))).toEqual(["aten::add"]);
});
