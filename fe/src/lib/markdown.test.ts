import { expect, it } from "vitest";

import { escapeMarkdown, markdownTable } from "./markdown";

it("leaves nothing that Markdown or HTML acts on", () => {
  expect(escapeMarkdown("a|b\n<img src=x> [x](y) `c` *d* _e_ ~f~ \\")).toBe("a\\|b &lt;img src=x&gt; \\[x\\](y) \\`c\\` \\*d\\* \\_e\\_ \\~f\\~ \\\\");
  expect(escapeMarkdown("\u202eevil")).not.toContain("\u202e");
});

it("writes a table with numbers on the right", () => {
  const columns = [
    { title: "Name", isNumber: false },
    { title: "Total (ms)", isNumber: true },
  ];
  expect(markdownTable(columns, [["aten::mm", "1.2"], ["a|b", "–"]])).toBe("| Name | Total (ms) |\n|---|---:|\n| aten::mm | 1.2 |\n| a\\|b | – |");
});
