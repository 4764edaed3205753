/** Cases: as much as fits, the longest unused first, shown answers, one that is too large alone. */
import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { expect, it } from "vitest";

import { limitCache, sizeBytes } from "./cacheLimit";

const TEXT = "x".repeat(984);
const TEXT_BYTES = 1000;

/** A client that keeps three such texts, and what shows an answer until its result is called. */
function keeper() {
  const client = new QueryClient({ defaultOptions: { queries: { gcTime: 60_000 } } });
  limitCache(client, 3 * TEXT_BYTES);
  const show = (name: string, answer: unknown = TEXT) => {
    client.setQueryData([name], answer);
    return new QueryObserver(client, { queryKey: [name], enabled: false }).subscribe(() => undefined);
  };
  const cachedKeys = () => client.getQueryCache().getAll().map(({ queryKey }) => queryKey[0]);
  return { show, cachedKeys };
}

it("drops the answers that were unused longest", () => {
  const { show, cachedKeys } = keeper();
  for (const name of ["a", "b", "c"]) show(name)();
  expect(cachedKeys()).toEqual(["a", "b", "c"]);
  show("a")();
  show("d")();
  expect(cachedKeys()).toEqual(["a", "c", "d"]);
});

it("retains shown answers, whatever their size", () => {
  const { show, cachedKeys } = keeper();
  const leave = show("shown", [TEXT, TEXT, TEXT, TEXT]);
  for (const name of ["a", "b", "c", "d"]) show(name)();
  expect(cachedKeys()).toEqual(["shown", "b", "c", "d"]);
  leave();
  expect(cachedKeys()).toEqual([]);
});

it("counts texts, numbers and their containers, up to the limit", () => {
  expect(sizeBytes({ rows: [[1, null, "ab"]] }, Infinity)).toBe(3 * 16 + 2 * 8 + 16 + 2);
  expect(sizeBytes(Array<number>(1000).fill(1), 100)).toBeLessThan(120);
});
