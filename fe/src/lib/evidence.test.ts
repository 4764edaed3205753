import { expect, it } from "vitest";

import type { Note } from "../api/types";
import { PLAIN_COLUMN, PLAIN_TABLE } from "./columns";
import { readEvidence } from "./evidence";

const note = (evidence: Record<string, unknown>): Note => ({ kind: "advice", code: "x", severity: "warning", text: "", evidence });

it("reads all fields", () => {
  const evidence = readEvidence(
    note({
      title: "Data loading",
      measured: 33.4,
      unit: "pct",
      threshold: 5,
      threshold_is_ours: true,
      estimated_gain_us_per_step: 59261.8,
      architecture: null,
      table: {
        title: "Iterators",
        help: "What was waited for.",
        columns: [
          { key: "name", title: "Iterator", type: "string", unit: null, help: "Its name.", ...PLAIN_COLUMN },
          { key: "shape", title: "Shape", type: "string", unit: null, help: "", ...PLAIN_COLUMN },
          { key: "calls", title: "Calls", type: "integer", unit: "count", help: "How often.", ...PLAIN_COLUMN },
          { key: "total_us", title: "Total time", type: "number", unit: "us", help: "Summed.", estimated: true, family: "time" },
        ],
        null_reasons: { calls: "Not recorded." },
        help_url: "docs/columns.md#advice.x",
      },
      help_url: "docs/advice.md#x",
      rows: [{ calls: 6, total_us: 415791, name: "next" }, { calls: null, name: "other", shape: [1, 2] }],
      source: { view: "operators", table: "operators", filter: "name~copy_", sort: "-calls", group_by: "name" },
      links: ["https://pytorch.org/docs", "javascript:alert(1)"],
    }),
  );
  expect(evidence).toMatchObject({ title: "Data loading", measured: 33.4, unit: "pct", threshold: 5, isRuleOfThumb: true, gainUsPerStep: 59261.8 });
  expect(evidence.links).toEqual(["https://pytorch.org/docs"]);
  expect([evidence.helpUrl, evidence.rows?.help_url]).toEqual(["docs/advice.md#x", "docs/columns.md#advice.x"]);
  expect(evidence.source).toEqual({
    view: "operators",
    params: { table: "operators", group_by: "name", "operators.filter": "name~copy_", "operators.sort": "-calls" },
  });
  expect(evidence.rows).toMatchObject({ title: "Iterators", help: "What was waited for.", row_count: 2, null_reasons: { calls: "Not recorded." } });
  expect(evidence.rows?.columns.map(({ key, title, type, unit, estimated, family }) => [key, title, type, unit, estimated, family])).toEqual([
    ["name", "Iterator", "string", null, false, null],
    ["shape", "Shape", "string", null, false, null],
    ["calls", "Calls", "integer", "count", false, null],
    ["total_us", "Total time", "number", "us", true, "time"],
  ]);
  expect(evidence.rows?.rows).toEqual([
    ["next", null, 6, 415791],
    ["other", "[1,2]", null, null],
  ]);
});

it("shows the declared columns, whatever else the rows and the declaration contain", () => {
  const columns = ["x", null, { title: "No key", type: "string" }, { key: "odd", type: "date" }, { key: "gpu", type: "integer", unit: "", help: 7 }];
  const { rows } = readEvidence(note({ table: { columns, null_reasons: { gpu: 1, other: "Why." } }, rows: [{ gpu: 0, odd: 1, more: 2 }, 5] }));
  expect(rows).toEqual({
    title: "Evidence",
    help: "",
    columns: [{ key: "gpu", title: "gpu", type: "integer", unit: null, help: "", ...PLAIN_COLUMN }],
    rows: [[0]],
    row_count: 1,
    null_reasons: { other: "Why." },
    sort: "",
    ...PLAIN_TABLE,
  });
});

it("has no table where the finding names none", () => {
  expect(readEvidence(note({ source: { view: "kernels", sort: "-calls" } })).source).toEqual({ view: "kernels", params: { "kernels.sort": "-calls" } });
});

it("reads its time range, its share of the step, and other findings of the same time", () => {
  const evidence = readEvidence(
    note({
      estimated_gain_pct_of_step: 33.4,
      timeline: { start_ns: 1000, end_ns: 2500, slice: 17, worker: "rank1" },
      same_time: [{ code: "launch_bound", title: "Launch bound", text: "The host is late." }, { title: "No text" }, null, 7, { text: "No title." }],
    }),
  );
  expect(evidence.gainPctOfStep).toBe(33.4);
  expect(evidence.timeline).toEqual({ startNs: 1000, endNs: 2500, slice: 17, worker: "rank1" });
  expect(evidence.sameTime).toEqual([
    { title: "Launch bound", text: "The host is late." },
    { title: null, text: "No title." },
  ]);
});

it("ignores an invalid time range", () => {
  for (const timeline of [null, undefined, "x", {}, { start_ns: 5, end_ns: 4 }, { start_ns: "1", end_ns: 2 }]) expect(readEvidence(note({ timeline })).timeline).toBeNull();
  expect(readEvidence(note({ timeline: { start_ns: 5, end_ns: 5 } })).timeline).toEqual({ startNs: 5, endNs: 5, slice: null, worker: null });
});

it("accepts an empty object", () => {
  expect(readEvidence(note({}))).toMatchObject({ title: null, measured: null, rows: null, source: null, links: [], timeline: null, sameTime: [], gainPctOfStep: null });
  expect(readEvidence(note({ rows: [{ calls: 1 }], table: {} })).rows).toBeNull();
  expect(readEvidence(note({ rows: [], source: "x", measured: "7" }))).toMatchObject({ measured: null, rows: null, source: null });
});
