// @vitest-environment jsdom
import { expect, it, vi } from "vitest";

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

/** A tab of the browser: the module with a state of its own, over the storage of all tabs. */
async function openTab() {
  vi.resetModules();
  return import("./history");
}

const storedQueries = () => queries(parseHistory(localStorage.getItem("torch-tb-profiler.sql")));

it("keeps the queries of other tabs", async () => {
  localStorage.clear();
  const [one, two] = [await openTab(), await openTab()];
  one.rememberQuery("a");
  two.rememberQuery("b");
  one.rememberQuery("c");
  expect(storedQueries()).toEqual(["c", "b", "a"]);
  two.forgetQuery("a");
  one.rememberQuery("d");
  expect(storedQueries()).toEqual(["d", "c", "b"]);
});

it("lists what a full storage does not take until the page is left", async () => {
  localStorage.clear();
  const tab = await openTab();
  tab.rememberQuery("a");
  const setItem = vi.spyOn(Storage.prototype, "setItem").mockImplementation(() => {
    throw new DOMException("full", "QuotaExceededError");
  });
  tab.rememberQuery("b");
  tab.rememberQuery("c");
  expect(queries(tab.readHistory())).toEqual(["c", "b", "a"]);
  setItem.mockRestore();
  expect(storedQueries()).toEqual(["a"]);
});

it("lists what another tab runs", async () => {
  localStorage.clear();
  const [one, two] = [await openTab(), await openTab()];
  expect(one.readHistory()).toEqual([]);
  const listener = vi.fn();
  const unsubscribe = one.subscribeHistory(listener);
  two.rememberQuery("a");
  window.dispatchEvent(new StorageEvent("storage", { key: "of another page" }));
  expect(listener).not.toHaveBeenCalled();
  window.dispatchEvent(new StorageEvent("storage", { key: "torch-tb-profiler.sql" }));
  expect(listener).toHaveBeenCalledOnce();
  expect(queries(one.readHistory())).toEqual(["a"]);
  unsubscribe();
});
