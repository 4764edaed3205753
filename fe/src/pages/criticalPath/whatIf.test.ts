import { expect, test } from "vitest";

import { formatWhatIf, parseWhatIf, EFFECTS } from "./whatIf";

test("names may contain colons; a change survives formatting and parsing", () => {
  for (const effect of EFFECTS) {
    const change = { name: "aten::mm", effect };
    expect(parseWhatIf(formatWhatIf(change))).toEqual(change);
  }
});

test("other texts are not a change", () => {
  expect([undefined, "", "aten::mm", "aten::mm:double", ":halve"].map(parseWhatIf)).toEqual([null, null, null, null, null]);
});
