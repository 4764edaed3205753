import { expect, it } from "vitest";

import { fullNames, nameModeOf, namesOf, shownName } from "./names";

const NAMES = { recorded: "_Z1fIiEvT_", short: "f<int>", demangled: "void f<int>(int)" };

it("shows the chosen kind of name, short ones by default", () => {
  expect(shownName(NAMES, nameModeOf(undefined))).toBe("f<int>");
  expect(shownName(NAMES, nameModeOf("demangled"))).toBe("void f<int>(int)");
  expect(shownName(NAMES, nameModeOf("recorded"))).toBe("_Z1fIiEvT_");
  expect(nameModeOf("__proto__")).toBe("short");
});

it("shows the recorded name where there is no other", () => {
  const plain = { recorded: "Memset", short: null, demangled: null };
  expect(shownName(plain, "short")).toBe("Memset");
  expect(shownName(plain, "demangled")).toBe("Memset");
  expect(fullNames(plain)).toBe("Memset");
  expect(fullNames(NAMES)).toBe("void f<int>(int)\n_Z1fIiEvT_");
});

it("reads the names in an answer", () => {
  expect(namesOf({ name: "_Z1fIiEvT_", short_name: "f<int>", demangled_name: "void f<int>(int)" })).toEqual(NAMES);
  expect(shownName(namesOf({ name: null, short_name: null, demangled_name: null }), "demangled")).toBe("(no name)");
});
