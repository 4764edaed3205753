import { expect, it } from "vitest";

import { colorVariable } from "./palette";

it("what is shown side by side has different colours", () => {
  const sets = [
    ["Computation", "Overlap", "Communication", "Other"],
    ["Transfer", "Wait", "Other"],
    ["Interval", "Forward and Backward", "Tail", "Communication"],
    ["Computing", "Communication Exposed", "Free"],
  ];
  for (const names of sets) expect(new Set(names.map((name) => colorVariable(name))).size, names.join()).toBe(names.length);
});
