import { expect, it } from "vitest";

import type { SqlTablePayload } from "../../generated/schema";
import { PLAIN_COLUMN } from "../../lib/columns";
import { searchTables, writtenName } from "./tableSearch";

function table(name: string, help: string, ...columns: string[]): SqlTablePayload {
  return { name, short_name: null, title: name, help, columns: columns.map((key) => ({ key, title: key, type: "integer", unit: null, help: `About ${key}`, ...PLAIN_COLUMN })) };
}

const TABLES = [table("raw.slices", "One row per slice.", "launch", "name"), table("idle.launch_delays", "Delays of launches.", "delay_us"), table("kernels.kernels", "Kernels by name.", "calls")];

const listed = (text: string) => searchTables(TABLES, text).map(({ table: { name }, columns, byColumn }) => `${name} ${byColumn ? "by" : "all"} ${columns.map(({ key }) => key).join()}`);

it("lists everything without a text, and tables before columns with one", () => {
  expect(listed("  ")).toHaveLength(3);
  expect(listed("LAUNCH")).toEqual(["idle.launch_delays all delay_us", "raw.slices by launch"]);
  expect(listed("kernels name")).toEqual(["kernels.kernels all calls"]);
  expect(listed("nothing")).toEqual([]);
});

it("writes the short name where there is one", () => {
  expect([writtenName({ name: "raw.slices", short_name: "slices" }), writtenName({ name: "raw.operators", short_name: null })]).toEqual(["slices", "raw.operators"]);
});
