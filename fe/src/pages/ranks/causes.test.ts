import { expect, test } from "vitest";

import { whenText } from "./causes";

test("steps are named unless all are struck", () => {
  expect(whenText("steady", "1, 2, 3")).toBe("In every step.");
  expect(whenText("", "all")).toBe("In the one step that is compared.");
  expect(whenText("one step", "7")).toBe("Only in step 7.");
});
