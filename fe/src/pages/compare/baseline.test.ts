import { describe, expect, it } from "vitest";

import type { Run, Runs, Span } from "../../api/types";
import type { Params } from "../../state/address";
import { resolveTarget } from "../../state/target";
import { allTraces, chooseBaseline, thirdOf } from "./baseline";

const span = (name: string, state: Span["state"] = "queued"): Span => ({
  name,
  file: `${name}.json`,
  format: null,
  size_bytes: 1,
  state,
  progress: 0,
  mb_per_s: null,
  eta_s: null,
  error: null,
  retry_s: null, version: null, modified_s: null, recorded_s: null, path: "", format_label: null, read_part: null,
});
const run = (name: string, workers: Record<string, readonly Span[]>): Run => ({
  name,
  workers: Object.entries(workers).map(([worker, spans]) => ({ name: worker, spans: [...spans] })),
});
const known = (...runs: Run[]): Runs => ({ schema_version: 1, discovering: false, notes: [], problem: null, silent_places: [], left_out: [], left_out_counts: {}, runs });

const namesOf = (path: string) => {
  const [runName = "", worker = "", spanName = ""] = path.split("/");
  return { run: runName, worker, span: spanName };
};

/** "run/worker/span" of the baseline of the trace the address names. */
function chosen(runs: Runs, params: Params, empty: readonly string[] = []): string {
  const target = resolveTarget(runs, params);
  if (target === null) throw new Error("no trace");
  const { trace, unknown, isNamed } = chooseBaseline(runs, params, target, empty.map(namesOf));
  return `${trace.run}/${trace.worker}/${trace.span}${isNamed ? " named" : ""}${unknown === null ? "" : ` without ${unknown}`}`;
}

describe("a marked baseline", () => {
  const one = { w0: [span("1")] };
  const runs = known(run("loader_nw0", one), run("other", one), run("loader_nw2", { w0: [span("1")] }));
  const baselineOf = (params: Params, marked: string) => {
    const target = resolveTarget(runs, params);
    if (target === null) throw new Error("no trace");
    return chooseBaseline(runs, params, target, [], namesOf(marked)).trace.run;
  };

  it("is taken before the most similar run, but not for itself, and not if it is gone", () => {
    expect(baselineOf({ run: "loader_nw2" }, "other/w0/1")).toBe("other");
    expect(baselineOf({ run: "other" }, "other/w0/1")).toBe("loader_nw0");
    expect(baselineOf({ run: "loader_nw2" }, "gone/w0/1")).toBe("loader_nw0");
  });

  it("yields to the address", () => {
    expect(baselineOf({ run: "loader_nw2", baseline_run: "loader_nw0" }, "other/w0/1")).toBe("loader_nw0");
  });
});

it("reads the third side of the address", () => {
  const choices = allTraces(known(run("a", { w0: [span("1"), span("2")] })).runs);
  expect(thirdOf(choices, { third_run: "a", third_span: "2" })?.span).toBe("2");
  expect(thirdOf(choices, { third_run: "gone" })).toBeNull();
  expect(thirdOf(choices, {})).toBeNull();
});

describe("without a baseline in the address", () => {
  it("takes another span of the worker, then another worker of the run", () => {
    const runs = known(run("a", { w0: [span("1")] }), run("b", { w0: [span("1"), span("2")], w1: [span("1")] }));
    expect(chosen(runs, { run: "b" })).toBe("b/w0/2");
    expect(chosen(runs, { run: "b", worker: "w1" })).toBe("b/w0/1");
  });

  it("takes a run with a similar name, among equals the nearest before", () => {
    const one = { w0: [span("1")] };
    const runs = known(run("loader_nw0", one), run("other", one), run("resnet", one), run("loader_nw2", one), run("zoo", one));
    expect(chosen(runs, { run: "loader_nw2" })).toBe("loader_nw0/w0/1");
    expect(chosen(runs, { run: "resnet" })).toBe("other/w0/1");
    expect(chosen(runs, { run: "loader_nw0" })).toBe("loader_nw2/w0/1");
  });

  it("skips traces without events, unless there is no other", () => {
    const one = { w0: [span("1")] };
    const runs = known(run("model_a", one), run("model_b", one), run("other", one));
    expect(chosen(runs, { run: "model_b" }, ["model_a/w0/1"])).toBe("other/w0/1");
    expect(chosen(runs, { run: "model_b" }, ["other/w0/1"])).toBe("model_a/w0/1");
    expect(chosen(runs, { run: "model_b" }, ["model_a/w0/1", "other/w0/1"])).toBe("model_a/w0/1");
  });

  it("takes the first one after the first, and the same worker of it", () => {
    const runs = known(run("a", { w1: [span("1")] }), run("b", { w0: [span("1")], w1: [span("1")] }), run("c", { w1: [span("1")] }));
    expect(chosen(runs, { run: "a" })).toBe("b/w1/1");
  });

  it("takes the first worker of another run", () => {
    const runs = known(run("a", { x: [span("1")], y: [span("1")] }), run("b", { w: [span("1")] }));
    expect(chosen(runs, { run: "b" })).toBe("a/x/1");
  });

  it("skips traces that could not be read", () => {
    const runs = known(run("a", { w0: [span("1"), span("2", "failed")] }), run("b", { w0: [span("1", "failed")] }), run("c", { w0: [span("1")] }));
    expect(chosen(runs, { run: "a" })).toBe("c/w0/1");
    expect(allTraces(runs.runs).filter(({ failed }) => failed)).toHaveLength(2);
  });

  it("compares the only trace with itself", () => {
    expect(chosen(known(run("a", { w0: [span("1")] })), {})).toBe("a/w0/1");
  });
});

describe("with a baseline in the address", () => {
  const runs = known(run("a", { w0: [span("1"), span("2", "failed")] }), run("b", { w0: [span("1")], w1: [span("1")] }));

  it("takes it, also when it could not be read", () => {
    expect(chosen(runs, { run: "b", baseline_run: "a", baseline_worker: "w0", baseline_span: "2" })).toBe("a/w0/2 named");
    expect(chosen(runs, { run: "b", baseline_run: "a" })).toBe("a/w0/1 named");
    expect(chosen(runs, { run: "b", worker: "w0", baseline_worker: "w1" })).toBe("b/w1/1 named");
  });

  it("reports a missing baseline instead of taking another", () => {
    expect(chosen(runs, { run: "b", baseline_run: "gone" })).toMatch(/ named without run “gone”$/);
    expect(chosen(runs, { run: "b", baseline_run: "a", baseline_worker: "w7" })).toMatch(/ named without worker “w7”$/);
  });
});
