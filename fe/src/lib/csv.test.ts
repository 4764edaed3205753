import { expect, it } from "vitest";

import type { Column } from "../api/types";
import { PLAIN_COLUMN } from "./columns";
import { toCsv, toJson, toTabs, toText } from "./csv";

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

it("names the recording above copied rows", () => {
  expect(toText("run · rank0 · Kernels", COLUMNS, [["a\nb", 1], ["c", null]])).toBe("run · rank0 · Kernels\nname\tcalls\na b\t1\nc\t");
});
