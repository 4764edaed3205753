import { expect, it } from "vitest";

import { roundStep } from "./roundStep";

it("rounds up to 1, 2 or 5 times a power of ten", () => {
  expect([0.3, 1, 1.1, 3, 7, 40].map(roundStep)).toEqual([0.5, 1, 2, 5, 10, 50]);
});
