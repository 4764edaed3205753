import { expect, it } from "vitest";

import type { Params } from "../../state/address";
import { keyStep, parseIndex, rangeSteps, selectedRange, withEnd, withSelection } from "./range";

const NAMES = ["3", "4", "5", "7", "8"];
const ALL = Uint8Array.from(NAMES, () => 1);

it("reads the range that the address selects, else the one that the server marks", () => {
  const rangeFor = (params: Params, selected = ALL, names = NAMES) => selectedRange(withSelection({ names, selected, parts: [], total: new Float64Array() }, params));
  expect(rangeFor({ steps: "4:7" })).toEqual({ first: 1, last: 3 });
  expect(rangeFor({ steps: "5" })).toEqual({ first: 2, last: 2 });
  expect(rangeFor({ steps: "6:99" })).toEqual({ first: 3, last: 4 });
  expect(rangeFor({})).toEqual({ first: 0, last: 4 });
  expect(rangeFor({ steps: "4:7", end_us: "1" }, Uint8Array.of(0, 1, 0, 0, 0))).toEqual({ first: 1, last: 1 });
  expect(rangeFor({ steps: "3,7" }, Uint8Array.of(1, 0, 0, 1, 0))).toEqual({ first: 0, last: 3 });
  expect(rangeFor({ steps: "99" }, new Uint8Array(5))).toBeNull();
  expect(rangeFor({ steps: "2:3" }, Uint8Array.of(1, 0, 1), ["2", "9", "3"])).toEqual({ first: 0, last: 2 });
});

it("formats it for the address", () => {
  expect(rangeSteps({ first: 1, last: 3 }, NAMES)).toBe("4:7");
  expect(rangeSteps({ first: 2, last: 2 }, NAMES)).toBe("5");
  expect(rangeSteps({ first: 0, last: 4 }, NAMES)).toBeNull();
  expect(rangeSteps({ first: 0, last: 1 }, ["b", "a", "c"])).toBe("b,a");
});

it("moves one end, never past the other and never outside", () => {
  const range = { first: 1, last: 3 };
  expect(withEnd(range, "first", 2, 5)).toEqual({ first: 2, last: 3 });
  expect(withEnd(range, "first", 9, 5)).toEqual({ first: 3, last: 3 });
  expect(withEnd(range, "last", -4, 5)).toEqual({ first: 1, last: 1 });
  expect(withEnd(range, "last", 99, 5)).toEqual({ first: 1, last: 4 });
});

it("moves by keys", () => {
  expect(["ArrowLeft", "ArrowUp", "PageDown", "Home", "x"].map((key) => keyStep(key, 200))).toEqual([-1, 1, -10, -200, null]);
  expect(keyStep("PageUp", 3)).toBe(1);
});

it("parses typed ranges", () => {
  expect(parseIndex(" 7 ", NAMES)).toBe(3);
  expect(parseIndex("6.4", NAMES)).toBe(3);
  expect(parseIndex("-9", NAMES)).toBe(0);
  expect(parseIndex("x", NAMES)).toBeNull();
  expect(parseIndex("", NAMES)).toBeNull();
  expect(parseIndex("warm", ["cold", "warm"])).toBe(1);
});
