import { expect, it } from "vitest";

import { visibleText } from "./visibleText";

it.each([
  ["void gemm<float>(int)", "void gemm<float>(int)"],
  ["two\nlines\tand a tab", "two\nlines\tand a tab"],
  ["Größe 漢字 🙂 שלום", "Größe 漢字 🙂 שלום"],
  ["a\u202egnp.exe", "a⟨U+202E⟩gnp.exe"],
  ["\u2066a\u2069\u200f\u061c", "⟨U+2066⟩a⟨U+2069⟩⟨U+200F⟩⟨U+061C⟩"],
  ["ge\u200bmm\ufeff\u00ad", "ge⟨U+200B⟩mm⟨U+FEFF⟩⟨U+00AD⟩"],
  ["\u001b[31mred\u0007\u0085", "⟨U+001B⟩[31mred⟨U+0007⟩⟨U+0085⟩"],
  ["a\ud800b\ufffe", "a⟨U+D800⟩b⟨U+FFFE⟩"],
  ["a\u2028b\u{e0041}", "a⟨U+2028⟩b⟨U+E0041⟩"],
])("%j is shown as %j", (text, shown) => {
  expect(visibleText(text)).toBe(shown);
});

it("is idempotent", () => {
  const once = visibleText("\u202e\u200b\u0001");
  expect(visibleText(once)).toBe(once);
});
