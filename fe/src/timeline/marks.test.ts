import { expect, it } from "vitest";

import { findOnTimeline } from "./link";
import { foundOf, matchesOf, nameMatcher, NOTHING_FOUND } from "./marks";

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

const LONG = `void at::native::elementwise_kernel<${"x".repeat(300)}>`;
/** As a tile holds it. */
const CUT = `${LONG.slice(0, 159)}…`;
const ANSWER = { schema_version: 1, query: LONG, count: 1, position: 0, name_count: 1, names: [], hits: [], next: null, previous: null };

it("a name that tiles hold cut stands out all the same", () => {
  const codes = Uint32Array.of(7, 9, 11);
  const names = [CUT, "aten::mm", null];
  expect(matchesOf(names, codes, foundOf({ ...ANSWER, name_codes: [7, 11] }))).toEqual([true, false, true]);
  expect(matchesOf(names, codes, NOTHING_FOUND)).toEqual([false, false, false]);
});

it("where names that match are too many to be told, the text says which", () => {
  expect(matchesOf(["aten::mm", "gemm", null], Uint32Array.of(1, 2, 3), foundOf({ ...ANSWER, query: "gemm", name_codes: null }))).toEqual([false, true, false]);
});
