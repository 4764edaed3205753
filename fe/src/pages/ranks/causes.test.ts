import { expect, test } from "vitest";

import { causeTitle, whenText } from "./causes";

test("a cause that is not known is shown as it is", () => {
  expect(causeTitle("slow_link", "")).toBe("Slow link");
  expect(causeTitle("pause", "checkpoint")).toBe("Pause (checkpoint)");
  expect(causeTitle("other", "")).toBe("other");
});

test("steps are named unless all are struck", () => {
  expect(whenText("steady", "1, 2, 3")).toBe("In every step.");
  expect(whenText("one step", "7")).toBe("Only in step 7.");
});
