// @vitest-environment jsdom
import { expect, it, vi } from "vitest";

vi.stubGlobal("matchMedia", () => ({ matches: false, addEventListener: () => undefined }));
const { leftOutText, restOf } = await import("./LeftOut");

it("counts skipped files, apart from those that are not traces", () => {
  expect(leftOutText({ link_out: 1 })).toBe("1 file was left out");
  expect(leftOutText({ link_out: 1, undecided: 2 })).toBe("3 files were left out");
  expect(leftOutText({ not_a_trace: 5 })).toBe("5 other JSON files");
  expect(leftOutText({ empty_file: 2, not_a_trace: 1 })).toBe("2 files were left out, and 1 other JSON file");
});

it("lists a name once", () => {
  const file = { name: "a/b.json", reason: "empty_file", can_open: true };
  expect(restOf({ ...file, text: "a/b.json is empty." })).toBe("is empty.");
  expect(restOf({ ...file, text: "Nobody may read it." })).toBe("Nobody may read it.");
});
