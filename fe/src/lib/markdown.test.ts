import { expect, it } from "vitest";

import { HOSTILE_NAMES } from "./hostileNames";
import { escapeMarkdown, markdownLine, markdownTable } from "./markdown";

it("leaves nothing that Markdown or HTML acts on", () => {
  expect(escapeMarkdown("a|b\n<img src=x> [x](y) `c` *d* _e_ ~f~ \\")).toBe("a\\|b &lt;img src=x&gt; \\[x\\](y) \\`c\\` \\*d\\* \\_e\\_ \\~f\\~ \\\\");
  expect(escapeMarkdown("\u202eevil")).not.toContain("\u202e");
});

it.each([
  ["# a", "\\# a"],
  ["- a", "\\- a"],
  ["12. a", "12\\. a"],
  ["  === ", "\\=== "],
  ["see http://x and www.x", "see http:\\//x and www\\.x"],
  ["$a$ mailto:b", "\\$a\\$ mailto\\:b"],
])("writes %j at the start of a line as %j", (text, written) => {
  expect(markdownLine(text)).toBe(written);
});

it("leaves no mark of a hostile name unescaped", () => {
  for (const name of HOSTILE_NAMES) {
    const rest = markdownLine(name).replace(/\\[!-/:-@[-`{-~]|&(amp|lt|gt);/g, "·");
    expect(rest).not.toMatch(/[\\`*_[\]|~$<>&\n\r]|\/\/|www\.|^\s*([#+=-]|\d+[.)])/);
  }
});

it("writes a table with numbers on the right", () => {
  const columns = [
    { title: "Name", isNumber: false },
    { title: "Total (ms)", isNumber: true },
  ];
  expect(markdownTable(columns, [["aten::mm", "1.2"], ["a|b", "–"]])).toBe("| Name | Total (ms) |\n|---|---:|\n| aten::mm | 1.2 |\n| a\\|b | – |");
});
