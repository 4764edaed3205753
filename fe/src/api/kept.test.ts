/** Cases: as much as fits, what was left first, what is shown, one that is too large alone. */
import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { expect, it } from "vitest";

import { boundKept, sizeBytes } from "./kept";

const TEXT = "x".repeat(984);
const TEXT_BYTES = 1000;

/** A client that keeps three such texts, and what shows an answer until its result is called. */
function keeper() {
  const client = new QueryClient({ defaultOptions: { queries: { gcTime: 60_000 } } });
  boundKept(client, 3 * TEXT_BYTES);
  const show = (name: string, answer: unknown = TEXT) => {
    client.setQueryData([name], answer);
    return new QueryObserver(client, { queryKey: [name], enabled: false }).subscribe(() => undefined);
  };
  const kept = () => client.getQueryCache().getAll().map(({ queryKey }) => queryKey[0]);
  return { show, kept };
}

it("forgets what was left first", () => {
  const { show, kept } = keeper();
  for (const name of ["a", "b", "c"]) show(name)();
  expect(kept()).toEqual(["a", "b", "c"]);
  show("a")();
  show("d")();
  expect(kept()).toEqual(["a", "c", "d"]);
});

it("keeps what is shown, whatever its size", () => {
  const { show, kept } = keeper();
  const leave = show("shown", [TEXT, TEXT, TEXT, TEXT]);
  for (const name of ["a", "b", "c", "d"]) show(name)();
  expect(kept()).toEqual(["shown", "b", "c", "d"]);
  leave();
  expect(kept()).toEqual([]);
});

it("counts texts, numbers and what holds them, no further than asked", () => {
  expect(sizeBytes({ rows: [[1, null, "ab"]] }, Infinity)).toBe(3 * 16 + 2 * 8 + 16 + 2);
  expect(sizeBytes(Array<number>(1000).fill(1), 100)).toBeLessThan(120);
});
