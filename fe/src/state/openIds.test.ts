import { expect, it } from "vitest";

import { formatIds, parseIds } from "./openIds";

it("survives formatting and parsing, whatever the names", () => {
  for (const ids of [[], ["a"], ["a,b", "c\\d", "e\nf"], ["\\", ","]]) expect(parseIds(formatIds(new Set(ids)))).toEqual(ids);
});

it("reads a truncated text as far as it goes", () => {
  expect(parseIds("a,b\\")).toEqual(["a"]);
  expect(parseIds(",")).toEqual([]);
});
