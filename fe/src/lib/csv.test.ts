import { expect, it } from "vitest";

import type { Column } from "../api/types";
import { PLAIN_COLUMN } from "./columns";
import { toCsv, toJson, toTabs, toText } from "./csv";
import { HOSTILE_NAMES } from "./hostileNames";

const column = (key: string): Column => ({ key, title: key, type: "string", unit: null, help: "", ...PLAIN_COLUMN });
const COLUMNS = [column("name"), column("calls")];

it("quotes values that would break a line", () => {
  const csv = toCsv(COLUMNS, [['a "b", c\nd', 1.5], [null, true]]);
  expect(csv).toBe('name,calls\r\n"a ""b"", c\nd",1.5\r\n,true\r\n');
});

it("writes objects by key", () => {
  expect(JSON.parse(toJson(COLUMNS, [["a", null]]))).toEqual([{ name: "a", calls: null }]);
});

it("keeps a row on one line", () => {
  expect(toTabs(["a\tb\nc", 2])).toBe("a b c\t2");
});

it.each([
  ["=1+1", "'=1+1"],
  ["-1", "'-1"],
  ["＝1", "'＝1"],
  [" \u200b=1", "' \u200b=1"],
  ["a;=1", "a;'=1"],
  ["\u001b[2J\u009b1m\u0000", "\\x1b[2J\\x9b1m\\x00"],
  ["a=1;b = -2", "a=1;b = -2"],
  ["operator+", "operator+"],
])("writes the text %j as %j, as the server does", (text, written) => {
  expect(toCsv(COLUMNS, [[text, -1.5]])).toBe(`name,calls\r\n${written},-1.5\r\n`);
  expect(toText(text, COLUMNS, [[text, -1.5]])).toBe(`${written}\nname\tcalls\n${written}\t-1.5`);
});

/** The cells of a text as a spreadsheet with another separator sees them: a quote counts at the start of a cell. */
function cells(text: string, separator: string): string[] {
  const closed: string[] = [];
  let cell = "";
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if (quoted) {
      if (character !== '"') cell += character;
      else if (text[at + 1] === '"') cell += text.charAt(++at);
      else quoted = false;
    } else if (character === '"' && cell === "") quoted = true;
    else if (character === separator || character === "\r" || character === "\n") {
      closed.push(cell);
      cell = "";
    } else cell += character;
  }
  return [...closed, cell];
}

it("writes no formula and no control character, whatever separates cells", () => {
  for (const name of HOSTILE_NAMES.filter(({ length }) => length < 1000)) {
    const rows = [[name, -1.5] as const, [-2, name] as const];
    for (const [text, separators] of [[toCsv(COLUMNS, rows), ",;\t"], [toText(name, COLUMNS, rows), "\t"]] as const) {
      expect(text).not.toMatch(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/);
      for (const separator of separators) {
        const acting = cells(text, separator).filter((cell) => /^[\s"\u0000-\u001f\u200b-\u200f]*[=+@＝＋－＠-]/.test(cell) && !/^-[12](\.5)?(,|$)/.test(cell));
        expect(acting).toEqual([]);
      }
    }
  }
});

it("takes time by the length of a text", () => {
  for (const character of ["\t", ";", "=", " ", '"', "'"]) expect(toCsv(COLUMNS, [[character.repeat(1_000_000), 1]]).length).toBeGreaterThan(1_000_000);
});

it("names the recording above copied rows", () => {
  expect(toText("run · rank0 · Kernels", COLUMNS, [["a\nb", 1], ["c", null]])).toBe("run · rank0 · Kernels\nname\tcalls\na b\t1\nc\t");
});
