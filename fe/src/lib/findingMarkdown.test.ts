import { expect, it } from "vitest";

import type { Note } from "../api/types";
import { findingMarkdown } from "./findingMarkdown";

const COLUMN = { help: "", estimated: false, family: null, hidden: false, additive: false };
const NOTE: Note = {
  kind: "advice",
  code: "dataloader_bound",
  severity: "warning",
  text: "The program waits for <img src=x onerror=alert(1)>.",
  evidence: {
    title: "Data loading",
    estimated_gain_us_per_step: 58_730,
    estimated_gain_pct_of_step: 33.14,
    links: ["https://pytorch.org/docs", "javascript:alert(1)"],
    table: {
      title: "Waits",
      help: "",
      columns: [
        { ...COLUMN, key: "name", title: "Name", type: "string", unit: null },
        { ...COLUMN, key: "total_us", title: "Total", type: "number", unit: "us" },
      ],
      null_reasons: {},
    },
    rows: Array.from({ length: 7 }, (_, at) => ({ name: `a|b ${at}`, total_us: 1500 * (at + 1) })),
  },
};

it("has title, gain, text, the first rows and safe links", () => {
  const lines = findingMarkdown(NOTE, ["run_1", "rank0"]).split("\n");
  expect(lines[0]).toBe("**Data loading: est. gain 58.7 ms per step, 33.1 % of it.** The program waits for &lt;img src=x onerror=alert(1)&gt;.");
  expect(lines[2]).toBe("Recording: run\\_1 · rank0");
  expect(lines.slice(4, 7)).toEqual(["| Name | Total |", "|---|---:|", "| a\\|b 0 | 1.50 ms |"]);
  expect(lines).toContain("and 2 more rows");
  expect(lines.at(-2)).toBe("<https://pytorch.org/docs>");
});

it("links to the documentation where it has a site", () => {
  const linksWith = (help_url: string) => findingMarkdown({ ...NOTE, evidence: { ...NOTE.evidence, help_url } }).split("\n").at(-2);
  expect(linksWith("https://docs.example/advice.html#x")).toBe("<https://docs.example/advice.html#x> <https://pytorch.org/docs>");
  expect(linksWith("docs/advice.md#x")).toBe("<https://pytorch.org/docs>");
});

it("is its text alone without structured evidence", () => {
  expect(findingMarkdown({ ...NOTE, evidence: {} })).toBe("The program waits for &lt;img src=x onerror=alert(1)&gt;.\n");
});
