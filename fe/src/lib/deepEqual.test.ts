import { expect, it } from "vitest";

import { deepEqual } from "./deepEqual";

it.each([
  [{ a: [1, null, "x"] }, { a: [1, null, "x"] }, true],
  [{ a: 1, b: undefined }, { a: 1 }, false],
  [[1, 2], [1, 2, 3], false],
  [[1], { 0: 1 }, false],
  [NaN, NaN, true],
  [null, {}, false],
  ["1", 1, false],
])("%j and %j: %s", (a, b, same) => {
  expect(deepEqual(a, b)).toBe(same);
  expect(deepEqual(b, a)).toBe(same);
});
