import { expect, it } from "vitest";

import { wheelPx } from "./pageWheel";

it("converts turns of the wheel, however the browser counts them", () => {
  const page = { clientHeight: 700 };
  expect(wheelPx({ deltaY: 100, deltaMode: 0 }, page)).toBe(100);
  expect(wheelPx({ deltaY: -3, deltaMode: 1 }, page)).toBe(-60);
  expect(wheelPx({ deltaY: 1, deltaMode: 2 }, page)).toBe(700);
});
