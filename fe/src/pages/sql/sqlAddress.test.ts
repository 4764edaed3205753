import { expect, it } from "vitest";

import { formatFragment, parseFragment } from "../../state/address";
import { addressLength, fitsAddress, formOf, MAX_ADDRESS_CHARACTERS, queryPatch } from "./sqlAddress";

it("writes a query so that the link opens the same", () => {
  const query = "select 'a&b=c#d', \"group\" -- 100 %\n\tfrom raw.slices; é😀";
  expect(queryPatch({}, query)["query"]).toBe(query);
  expect(parseFragment(`#${formatFragment({ query })}`)["query"]).toBe(query);
});

it("leaves a query out of the address that is too long for it", () => {
  const fits = "a".repeat(MAX_ADDRESS_CHARACTERS);
  expect([fitsAddress(fits), fitsAddress(`${fits}a`), fitsAddress("é".repeat(MAX_ADDRESS_CHARACTERS / 6 + 1))]).toEqual([true, false, false]);
  expect(queryPatch({ query: "before" }, `${fits}a`)["query"]).toBeNull();
  expect(addressLength("\ud800")).toBe(Infinity);
});

it("clears what was chosen about another answer, and nothing for the same query", () => {
  const params = { run: "r", query: "select 1", "answer.sort": "-x", x: "name", max_rows: "100000", form: "chart" };
  expect(queryPatch(params, "select 2")).toEqual({ "answer.sort": null, x: null, y: null, by: null, kind: null, max_rows: null, query: "select 2" });
  expect(queryPatch(params, "select 1")).toEqual({});
  expect([formOf(params), formOf({ form: "<img>" }), formOf({})]).toEqual(["chart", "table", "table"]);
});
