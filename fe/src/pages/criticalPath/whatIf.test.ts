import { expect, test } from "vitest";

import { formatWhatIf, parseWhatIf, EFFECTS } from "./whatIf";

test("names may hold colons; a change is read back", () => {
  for (const effect of EFFECTS) {
    const change = { name: "aten::mm", effect };
    expect(parseWhatIf(formatWhatIf(change))).toEqual(change);
  }
});

test("other texts are no change", () => {
  expect([undefined, "", "aten::mm", "aten::mm:double", ":halve"].map(parseWhatIf)).toEqual([null, null, null, null, null]);
});
