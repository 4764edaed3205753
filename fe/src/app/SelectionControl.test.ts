import { expect, it } from "vitest";

import { selectionText, selectionTitle } from "./SelectionControl";

it("describes the selection", () => {
  expect(selectionText({})).toBeNull();
  expect(selectionText({ steps: "5" })).toBe("Step 5");
  expect(selectionText({ steps: "5:8" })).toBe("Steps 5–8");
  expect(selectionText({ steps: "3:5,8" })).toBe("Steps 3–5,8");
  expect(selectionText({ start_us: "1000", end_us: "3500" })).toBe("2.50 ms range");
});

it("names the exact range", () => {
  expect(selectionTitle({ start_us: "1000.5" })).toContain("1\u202f000.5 µs to open");
});
