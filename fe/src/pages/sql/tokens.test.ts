import { expect, it } from "vitest";

import { linesOf, nameOf, quotedName, tokensOf } from "./tokens";

const kinds = (query: string) => tokensOf(query).filter(({ kind }) => kind !== "space").map(({ kind, text }) => `${kind} ${text}`);

it("knows the words, names, texts, numbers and comments of a query", () => {
  expect(kinds(`Select "a""b", 'it''s', 1.5e3 -- end\nfrom raw.slices /* x * y */`)).toEqual([
    "keyword Select",
    'quoted "a""b"',
    "symbol ,",
    "string 'it''s'",
    "symbol ,",
    "number 1.5e3",
    "comment -- end",
    "keyword from",
    "name raw",
    "symbol .",
    "name slices",
    "comment /* x * y */",
  ]);
});

it("gives every text back whole, whatever is in it", () => {
  for (const text of ["", "'open", '"open', "/* open", "/**/ /***", "a\u0000b 😀 \u202e <img src=x>", "1..2", "select\r\n\t1;", "é_1 $2", "''''"]) {
    expect(tokensOf(text).map((token) => token.text).join("")).toBe(text);
    expect(tokensOf(text).every((token) => text.slice(token.start, token.end) === token.text)).toBe(true);
  }
});

it("takes no longer than its length for a long text that never ends", () => {
  const started = performance.now();
  for (const text of ["/*".repeat(10_000), "'".repeat(20_001), "*".repeat(20_000), `"${'"'.repeat(20_000)}`]) tokensOf(text);
  expect(performance.now() - started).toBeLessThan(1000);
});

it("splits tokens at the ends of lines", () => {
  const lines = linesOf(tokensOf("select 1,\n'a\nb'\n"));
  expect(lines.map((line) => line.map(({ text }) => text).join(""))).toEqual(["select 1,", "'a", "b'", ""]);
  expect(lines[2]?.[0]).toEqual({ kind: "string", text: "b'", start: 13, end: 15 });
});

it("joins what has no colour", () => {
  expect(linesOf(tokensOf("select a.b, \"c\" + 1"))[0]?.map(({ kind, text }) => [kind, text])).toEqual([["keyword", "select"], ["plain", ' a.b, "c" + '], ["number", "1"]]);
});

it("quotes the names that need it, and reads them back", () => {
  expect(["name", "group", "a b", 'x"y', "Name"].map(quotedName)).toEqual(["name", '"group"', '"a b"', '"x""y"', '"Name"']);
  expect(tokensOf('"x""y"').map(nameOf)).toEqual(['x"y']);
});
