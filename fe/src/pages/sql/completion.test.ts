import { expect, it } from "vitest";

import type { ColumnPayload, SqlTablePayload } from "../../generated/schema";
import { PLAIN_COLUMN } from "../../lib/columns";
import { completionsAt } from "./completion";
import { relationsOf, tableNames } from "./relations";
import { tokensOf } from "./tokens";

function column(key: string, unit: ColumnPayload["unit"] = null): ColumnPayload {
  return { key, title: key, type: unit === null ? "string" : "integer", unit, help: `Help of ${key}.`, ...PLAIN_COLUMN };
}

function table(name: string, shortName: string | null, ...columns: ColumnPayload[]): SqlTablePayload {
  return { name, short_name: shortName, title: name, help: `Help of ${name}.`, columns: [column("worker"), ...columns] };
}

const NAMES = tableNames([
  table("raw.slices", "slices", column("name"), column("dur_ns", "ns")),
  table("raw.operators", null, column("call_stack")),
  table("operators.operators", "operators", column("calls", "count"), column("group"), column("device_total_us", "us")),
]);

/** The labels at the mark `|`, after which the rest of the query stands. */
function labels(marked: string, isWanted = false): string[] {
  const caret = marked.indexOf("|");
  return (completionsAt(marked.replace("|", ""), caret, NAMES, isWanted)?.items ?? []).map(({ label }) => label);
}

it("completes tables where a table stands, with and without their schema", () => {
  expect(labels("select * from sl|")).toEqual(["slices", "raw.slices"]);
  expect(labels("select * from slices join op|")).toEqual(["operators", "operators.operators", "raw.operators"]);
  expect(labels("select * from slices a, ope|")).toContain("operators");
  expect(labels("select * from raw.|")).toEqual(["slices", "operators"]);
  expect(labels("from |", true)).toContain("raw");
});

it("completes columns of the tables that the query names, also behind their aliases", () => {
  expect(labels("select du| from slices")).toContain("dur_ns");
  expect(labels("select o.| from slices s join operators o on true")).toEqual(["worker", "calls", "group", "device_total_us"]);
  expect(labels("select s.dur| from raw.slices as s")).toEqual(["dur_ns"]);
  expect(labels("select raw.slices.| from raw.slices")).toEqual(["worker", "name", "dur_ns"]);
  // A word of the name, not only its beginning.
  expect(labels("select total| from operators")).toEqual(["device_total_us"]);
  // Not of tables that the query does not name.
  expect(labels("select cal| from slices")).not.toContain("calls");
  expect(labels("select cal|")).toContain("calls");
});

it("shows type, unit and help of a column, and quotes a name that is a word of the dialect", () => {
  const { items, from, to } = completionsAt("select dur_n from slices", 12, NAMES) ?? { items: [], from: 0, to: 0 };
  expect([from, to, items[0]]).toEqual([7, 12, { label: "dur_ns", text: "dur_ns", kind: "column", detail: "integer, ns", help: "Help of dur_ns. (raw.slices)" }]);
  expect(completionsAt("select o. from operators o", 9, NAMES)?.items.find(({ label }) => label === "group")?.text).toBe('"group"');
});

it("knows what the query defines itself", () => {
  const query = "with longest as (select name, max(dur_ns) as longest_ns from slices group by all) select longest.| from longest";
  expect(labels(query)).toEqual(["longest_ns"]);
  expect(labels("with longest as (select 1 as x) select * from lon|")).toEqual(["longest"]);
});

it("completes keywords and functions, and nothing that is complete", () => {
  expect(labels("sel|")[0]).toBe("select");
  expect(labels("select med| from slices")).toContain("median()");
  expect(labels("select|")).toEqual([]);
  expect(labels("select * from slices|")).toEqual([]);
});

it("is silent in texts, comments and numbers, after `as`, and for a single letter", () => {
  for (const text of ["select 'na|", "select 'na|me'", "-- sel|", "/* sel| */", "select 12|", "select 1 as na|", "select n| from slices", "select 1 |"]) expect(labels(text), text).toEqual([]);
  expect(labels("select n| from slices", true)).toContain("name");
});

it("takes a comma for the next table only in the list of tables", () => {
  const tables = (query: string) => [...relationsOf(tokensOf(query), NAMES).tables.keys()];
  expect(tables("select operators, slices from slices s, operators")).toEqual(["s", "operators"]);
  expect(tables("select 1 from slices where name in (slices, operators)")).toEqual(["slices"]);
  expect(tables("select 1 from (select 1 from slices) x, operators, lateral (select 2), raw.slices b where b.a in (1, operators)")).toEqual(["slices", "operators", "b"]);
  expect(tables("select 1 from slices s join operators o on s.a = o.a, raw.operators p")).toEqual(["s", "o"]);
  expect(tables("select 1) , slices, operators")).toEqual([]);
  expect(tables("select (select max(calls) from operators o), slices from raw.slices")).toEqual(["o", "raw.slices", "slices"]);
});

it("answers in time for the longest query", () => {
  for (const part of ["a.b, (", "a, ", "'a', ", "(), "]) {
    const query = `select ${part.repeat(20_000 / part.length)} na`;
    completionsAt(query.slice(0, 100), 100, NAMES);
    const started = performance.now();
    completionsAt(query, query.length, NAMES);
    expect(performance.now() - started, part).toBeLessThan(800);
  }
});
