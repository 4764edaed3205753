import { expect, it } from "vitest";

import { noteDetails } from "./QualityNotes";

const details = (text: string, evidence: Record<string, unknown>) => noteDetails({ kind: "quality", code: "x", severity: "info", text, evidence });

it("shows the count, unless it is one or the text contains it", () => {
  expect(details("Slices overlap.", { count: 12838 })).toBe("12\u202f838 times");
  expect(details("The trace has no ProfilerStep.", { count: 1 })).toBe("");
  expect(details("12838 memory events tell no totals.", { count: 12838 })).toBe("");
  expect(details("12 838 memory events tell no totals.", { count: 12838 })).toBe("");
  expect(details("2 of 38 calls have no match.", { count: 2 })).toBe("");
  expect(details("Launches of 22000 events.", { count: 22 })).toBe("22 times");
});

it("gives examples", () => {
  expect(details("Devices that are missing.", { count: 1, examples: ["device 2"] })).toBe("for example device 2");
  expect(details("Slices.", { count: 4, examples: ["a", "b", { c: 1 }, "d"] })).toBe('4 times; for example a, b, {"c":1}');
  expect(details("Slices.", {})).toBe("");
});
