import { expect, it } from "vitest";

import type { Note } from "../api/types";
import { readEvidence } from "./evidence";

const note = (evidence: Record<string, unknown>): Note => ({ kind: "advice", code: "x", severity: "warning", text: "", evidence });

it("reads all of it", () => {
  const evidence = readEvidence(
    note({
      title: "Data loading",
      measured: 33.4,
      unit: "pct",
      threshold: 5,
      estimated_gain_us_per_step: 59261.8,
      architecture: null,
      rows: [{ calls: 6, total_us: 415791, name: "next" }, { calls: null, name: "other", shape: [1, 2] }],
      source: { view: "operators", table: "operators", filter: "name~copy_", sort: "-calls", group_by: "name" },
      links: ["https://pytorch.org/docs", "javascript:alert(1)"],
    }),
  );
  expect(evidence).toMatchObject({ title: "Data loading", measured: 33.4, unit: "pct", threshold: 5, gainUsPerStep: 59261.8 });
  expect(evidence.links).toEqual(["https://pytorch.org/docs"]);
  expect(evidence.source).toEqual({
    view: "operators",
    params: { table: "operators", group_by: "name", "operators.filter": "name~copy_", "operators.sort": "-calls" },
  });
  expect(evidence.rows?.columns.map(({ key, title, unit }) => [key, title, unit])).toEqual([
    ["name", "Name", null],
    ["shape", "Shape", null],
    ["calls", "Calls", null],
    ["total_us", "Total", "us"],
  ]);
  expect(evidence.rows?.rows).toEqual([
    ["next", null, 6, 415791],
    ["other", "[1,2]", null, null],
  ]);
});

it("heads every column with words of its own", () => {
  const { rows } = readEvidence(note({ rows: [{ gpu: 0, mean_blocks_per_sm: 0.5, total_us: 1, total_bytes: 2, compute_us_per_step: 3, share_pct: 4 }] }));
  expect(rows?.columns.map(({ title }) => title)).toEqual(["GPU", "Mean blocks per SM", "Total time", "Total bytes", "Compute per step", "Share"]);
});

it("names no table where the finding names none", () => {
  expect(readEvidence(note({ source: { view: "kernels", sort: "-calls" } })).source).toEqual({ view: "kernels", params: { "kernels.sort": "-calls" } });
});

it("is content with nothing", () => {
  expect(readEvidence(note({}))).toMatchObject({ title: null, measured: null, rows: null, source: null, links: [] });
  expect(readEvidence(note({ rows: [], source: "x", measured: "7" }))).toMatchObject({ measured: null, rows: null, source: null });
});
