import { describe, expect, it } from "vitest";

import { inOrder, listWith, MAX_ORDER, MAX_PINNED, namesMatch, orderWith, togglePin } from "./arrangement";

const same = (key: string) => key;
const ALL = ["a", "b", "c", "d", "e"];

describe("moving", () => {
  it("reorders the moved items, and leaves the others where they are", () => {
    expect(inOrder(["a", "b", "c", "d"], same, ["d", "b"])).toEqual(["a", "d", "c", "b"]);
    expect(inOrder(ALL, same, ["of another trace"])).toEqual(ALL);
  });

  it("gives the list that moving by hand would give, whatever the moves", () => {
    let order: readonly string[] = ["other"];
    let byHand = [...ALL];
    for (const [key, target, isAfter] of [["d", "a", false], ["a", "e", true], ["b", "d", false], ["e", "b", true], ["c", "d", false]] as const) {
      order = orderWith(order, ALL, key, target, isAfter) ?? [];
      byHand = byHand.filter((each) => each !== key);
      byHand.splice(byHand.indexOf(target) + Number(isAfter), 0, key);
      expect(inOrder(ALL, same, order)).toEqual(byHand);
    }
    expect(order, "what stands elsewhere stays").toContain("other");
  });

  it("moving back leaves nothing in the address", () => {
    const there = orderWith([], ALL, "b", "c", true) ?? [];
    expect(orderWith(there, ALL, "b", "c", false)).toEqual([]);
  });

  it("is refused where the address could not hold it", () => {
    const many = Array.from({ length: MAX_ORDER + 2 }, (_, index) => `t${index}`);
    expect(orderWith([], many, "t0", many.at(-1) ?? "", true)).toBeNull();
    expect(orderWith([], many, "t0", "t1", true)).toEqual(["t1", "t0"]);
  });

  it("moves pins among pins", () => {
    expect(listWith(["a", "b", "c"], "c", "a", false)).toEqual(["c", "a", "b"]);
    expect(listWith(["a", "b", "c"], "x", "a", false)).toEqual(["a", "b", "c"]);
  });
});

it("pins are toggled, and bounded", () => {
  expect(togglePin(togglePin([], "a") ?? [], "b")).toEqual(["a", "b"]);
  expect(togglePin(["a", "b"], "a")).toEqual(["b"]);
  const full = Array.from({ length: MAX_PINNED }, (_, index) => String(index));
  expect(togglePin(full, "one more")).toBeNull();
  expect(togglePin(full, "0")).toHaveLength(MAX_PINNED - 1);
});

it("a filter means every word, in any of the names", () => {
  const names = ["GPU 0 (NVIDIA H100)", "stream 7", null];
  for (const filter of ["gpu", "STREAM gpu", "7", "0 stream"]) expect(namesMatch(filter, names)).toBe(true);
  for (const filter of ["gpu 2", "thread"]) expect(namesMatch(filter, names)).toBe(false);
});
