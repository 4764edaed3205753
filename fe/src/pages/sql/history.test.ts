import { expect, it } from "vitest";

import { addEntry, MAX_CHARACTERS, MAX_ENTRIES, parseHistory, type History } from "./history";

const queries = (history: History) => history.map(({ query }) => query);

it("holds every query once, the newest first", () => {
  let history: History = [];
  ["a", "b", "a", "  ", " c\n"].forEach((query, atMs) => (history = addEntry(history, { query, atMs })));
  expect(history).toEqual([{ query: "c", atMs: 4 }, { query: "a", atMs: 2 }, { query: "b", atMs: 1 }]);
});

it("is bounded in entries and characters", () => {
  let history: History = [];
  for (let atMs = 0; atMs < MAX_ENTRIES + 10; atMs++) history = addEntry(history, { query: `select ${atMs}`, atMs });
  expect(queries(history)).toHaveLength(MAX_ENTRIES);
  expect(queries(history)[0]).toBe(`select ${MAX_ENTRIES + 9}`);
  const long = (letter: string) => letter.repeat(MAX_CHARACTERS / 2);
  for (const letter of ["x", "y", "z"]) history = addEntry(history, { query: long(letter), atMs: 0 });
  expect(queries(history)).toEqual([long("z"), long("y")]);
});

it("takes nothing from a storage that others wrote", () => {
  for (const text of [null, "", "{", "7", '{"query":1}', "null"]) expect(parseHistory(text)).toEqual([]);
  expect(parseHistory('[1, null, {"query": "a"}, {"query": "b", "atMs": 3}, {"query": {}, "atMs": 1}]')).toEqual([{ query: "b", atMs: 3 }]);
});
