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
  retry_s: null, version: null,
});
const RUNS: Runs = {
  schema_version: 1,
  discovering: false,
  notes: [],
  problem: null,
  silent_places: [],
  runs: [
    { name: "empty", workers: [] },
    { name: "a", workers: [{ name: "w0", spans: [span("1"), span("2")] }, { name: "w1", spans: [span("1")] }] },
  ],
};

it("takes the first of what is not named", () => {
  const target = resolveTarget(RUNS, {});
  expect([target?.run.name, target?.worker.name, target?.span.name, target?.unknown]).toEqual(["a", "w0", "1", null]);
});

it("takes what is named", () => {
  const target = resolveTarget(RUNS, { run: "a", worker: "w0", span: "2" });
  expect(target?.span.file).toBe("2.json");
});

it("says what nobody knows", () => {
  expect(resolveTarget(RUNS, { run: "gone" })?.unknown).toBe("run “gone”");
  expect(resolveTarget(RUNS, { run: "a", worker: "w9", span: "7" })?.unknown).toBe("worker “w9”, span “7”");
});

it("finds nothing in nothing", () => {
  expect(resolveTarget({ ...RUNS, runs: [] }, {})).toBeNull();
});
