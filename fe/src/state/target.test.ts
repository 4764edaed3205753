import { expect, it } from "vitest";

import type { Runs, Span } from "../api/types";
import { resolveTarget } from "./target";

const span = (name: string): Span => ({
  name,
  file: `${name}.json`,
  format: "kineto",
  size_bytes: 1,
  state: "ready",
  progress: 1,
  mb_per_s: null,
  eta_s: null,
  error: null,
  retry_s: null, version: null, modified_s: null, recorded_s: null, path: "", format_label: null, read_part: null,
});
const RUNS: Runs = {
  schema_version: 1,
  discovering: false,
  notes: [],
  problem: null,
  left_out: [],
  left_out_counts: {},
  silent_places: [],
  runs: [
    { name: "empty", workers: [] },
    { name: "a", workers: [{ name: "w0", spans: [span("1"), span("2")] }, { name: "w1", spans: [span("1")] }] },
  ],
};

it("takes the first where the address names none", () => {
  const target = resolveTarget(RUNS, {});
  expect([target?.run.name, target?.worker.name, target?.span.name, target?.unknown]).toEqual(["a", "w0", "1", null]);
});

it("takes the named one", () => {
  const target = resolveTarget(RUNS, { run: "a", worker: "w0", span: "2" });
  expect(target?.span.file).toBe("2.json");
});

it("reports unknown names", () => {
  expect(resolveTarget(RUNS, { run: "gone" })?.unknown).toBe("run “gone”");
  expect(resolveTarget(RUNS, { run: "a", worker: "w9", span: "7" })?.unknown).toBe("worker “w9”, span “7”");
});

it("does not start with a broken trace", () => {
  const broken = (name: string): Span => ({ ...span(name), state: "failed" });
  const runs = [
    { name: "bad", workers: [{ name: "w0", spans: [broken("1")] }] },
    { name: "good", workers: [{ name: "w0", spans: [broken("1")] }, { name: "w1", spans: [broken("1"), span("2")] }] },
  ];
  const target = resolveTarget({ ...RUNS, runs }, {});
  expect([target?.run.name, target?.worker.name, target?.span.name]).toEqual(["good", "w1", "2"]);
  expect(resolveTarget({ ...RUNS, runs }, { run: "bad" })?.run.name).toBe("bad");
  expect(resolveTarget({ ...RUNS, runs: runs.slice(0, 1) }, {})?.run.name).toBe("bad");
});

it("stays with the shown run when a newer one appears, unless it is broken", () => {
  const runs = ["a", "b"].map((name) => ({ name, workers: [{ name: "w", spans: [span("1")] }] }));
  expect(resolveTarget({ ...RUNS, runs }, {}, "b")?.run.name).toBe("b");
  expect(resolveTarget({ ...RUNS, runs }, { run: "a" }, "b")?.run.name).toBe("a");
  expect(resolveTarget({ ...RUNS, runs }, {}, "gone")?.run.name).toBe("a");
});

it("is empty without runs", () => {
  expect(resolveTarget({ ...RUNS, runs: [] }, {})).toBeNull();
});
