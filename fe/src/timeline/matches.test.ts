import { expect, it } from "vitest";

import { findOnTimeline } from "./link";
import { answerMatches, matchNames, nameMatcher, NO_MATCHES } from "./matches";

it.each([
  ["ADD", ["add", "add_", "Add", "=add"]],
  ["=Add", ["add", "Add"]],
  ["==add", ["=add"]],
  ["=", ["=add"]],
])("%s matches the same names as on the server", (search, expected) => {
  expect(["add", "add_", "Add", "=add", "mm"].filter(nameMatcher(search))).toEqual(expected);
});

it("a row of another view is matched by its exact name", () => {
  const { find } = findOnTimeline("aten::add");
  expect(["aten::add", "aten::add_", "autograd::aten::add"].filter(nameMatcher(find ?? ""))).toEqual(["aten::add"]);
});

const LONG = `void at::native::elementwise_kernel<${"x".repeat(300)}>`;
/** As a tile holds it. */
const SHORTENED = `${LONG.slice(0, 159)}…`;
const ANSWER = { schema_version: 1, query: LONG, count: 1, position: 0, name_count: 1, names: [], hits: [], next: null, previous: null };

it("a name that tiles hold shortened is matched too", () => {
  const codes = Uint32Array.of(7, 9, 11);
  const names = [SHORTENED, "aten::mm", null];
  expect(matchNames(names, codes, answerMatches({ ...ANSWER, name_codes: [7, 11] }))).toEqual([true, false, true]);
  expect(matchNames(names, codes, NO_MATCHES)).toEqual([false, false, false]);
});

it("where matching names are too many to be listed, they are matched by text", () => {
  expect(matchNames(["aten::mm", "gemm", null], Uint32Array.of(1, 2, 3), answerMatches({ ...ANSWER, query: "gemm", name_codes: null }))).toEqual([false, true, false]);
});
