import { expect, it } from "vitest";

import type { Params } from "../../state/address";
import { keyStep, placeOf, rangeSteps, selectedRange, withEnd, withSelection } from "./range";

const NAMES = ["3", "4", "5", "7", "8"];
const ALL = Uint8Array.from(NAMES, () => 1);

it("reads the run that the address selects, else what the server marks", () => {
  const of = (params: Params, selected = ALL, names = NAMES) => selectedRange(withSelection({ names, selected, parts: [], total: new Float64Array() }, params));
  expect(of({ steps: "4:7" })).toEqual({ first: 1, last: 3 });
  expect(of({ steps: "5" })).toEqual({ first: 2, last: 2 });
  expect(of({ steps: "6:99" })).toEqual({ first: 3, last: 4 });
  expect(of({})).toEqual({ first: 0, last: 4 });
  expect(of({ steps: "4:7", end_us: "1" }, Uint8Array.of(0, 1, 0, 0, 0))).toEqual({ first: 1, last: 1 });
  expect(of({ steps: "3,7" }, Uint8Array.of(1, 0, 0, 1, 0))).toEqual({ first: 0, last: 3 });
  expect(of({ steps: "99" }, new Uint8Array(5))).toBeNull();
  expect(of({ steps: "2:3" }, Uint8Array.of(1, 0, 1), ["2", "9", "3"])).toEqual({ first: 0, last: 2 });
});

it("writes it as the address does", () => {
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

it("understands what is typed", () => {
  expect(placeOf(" 7 ", NAMES)).toBe(3);
  expect(placeOf("6.4", NAMES)).toBe(3);
  expect(placeOf("-9", NAMES)).toBe(0);
  expect(placeOf("x", NAMES)).toBeNull();
  expect(placeOf("", NAMES)).toBeNull();
  expect(placeOf("warm", ["cold", "warm"])).toBe(1);
});
