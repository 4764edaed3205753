import { expect, test } from "vitest";

import { formatWhatIf, parseWhatIf, WAYS } from "./whatIf";

test("names may hold colons; what is asked is read back", () => {
  for (const way of WAYS) {
    const asked = { name: "aten::mm", way };
    expect(parseWhatIf(formatWhatIf(asked))).toEqual(asked);
  }
});

test("what names no change is none", () => {
  expect([undefined, "", "aten::mm", "aten::mm:double", ":halve"].map(parseWhatIf)).toEqual([null, null, null, null, null]);
});
