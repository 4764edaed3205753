import { expect, it } from "vitest";

import { formatNotes, formatPosition, MAX_ALL_CHARACTERS, MAX_NOTE_CHARACTERS, MAX_NOTES, parseNotes, parsePosition } from "./notes";

const NOTES = [
  { timeNs: 1200, slice: null, text: "warm-up ends <b>" },
  { timeNs: 5000, slice: 17, text: "why? 50 % @ 3 ~" },
];

it("notes come back from the address in order of time", () => {
  expect(parseNotes(formatNotes(NOTES.toReversed()) ?? "")).toEqual(NOTES);
  expect(formatNotes(NOTES)).toBe("1200 warm-up ends <b>\n5000@17 why? 50 % @ 3 ~");
});

it.each(["", "nonsense", "12", "12 ", " text", "-5 text", "1.5 text", "7@x text", undefined])("what is malformed is no note: %j", (text) => expect(parseNotes(text)).toEqual([]));

it("a text is one line of bounded length", () => {
  expect(parseNotes(formatNotes([{ timeNs: 1, slice: null, text: `a\nb\tc${"x".repeat(500)}` }]) ?? "")[0]?.text).toBe(`a b c${"x".repeat(MAX_NOTE_CHARACTERS - 5)}`);
});

it("a full address takes no more", () => {
  const many = (count: number, text: string) => Array.from({ length: count }, (_, index) => ({ timeNs: index, slice: null, text }));
  expect(formatNotes(many(MAX_NOTES, "x"))).not.toBeNull();
  expect(formatNotes(many(MAX_NOTES + 1, "x"))).toBeNull();
  expect(formatNotes(many(20, "x".repeat(MAX_NOTE_CHARACTERS)))).toBeNull();
  expect(parseNotes("1 x\n".repeat(MAX_ALL_CHARACTERS))).toHaveLength(MAX_NOTES);
});

it("a position is a moment or a slice", () => {
  expect(parsePosition("5000@17")).toEqual({ timeNs: 5000, slice: 17 });
  expect(formatPosition({ timeNs: 12.6, slice: null })).toBe("13");
  expect(parsePosition("list")).toBeNull();
});
