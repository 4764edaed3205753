import { expect, it } from "vitest";

import type { Run, Span } from "../api/types";
import { dateOf, newestFirst, runDate } from "./traceOrder";

const span = (name: string, state: Span["state"], dates: { recorded_s?: number | null; modified_s?: number | null } = {}): Span =>
  ({ name, file: `${name}.json`, state, recorded_s: null, modified_s: null, ...dates }) as Span;
const run = (name: string, ...spans: Span[]): Run => ({ name, workers: [{ name: "w", spans }] });

it("takes the recording time from the name, else from the file", () => {
  expect(dateOf(span("1", "ready", { recorded_s: 5, modified_s: 9 }))).toBe(5);
  expect(dateOf(span("1", "ready", { recorded_s: null, modified_s: 9 }))).toBe(9);
  expect(dateOf(span("1", "ready"))).toBeNull();
  expect(runDate(run("a", span("1", "ready"), span("2", "ready", { modified_s: 3 })))).toBe(3);
});

it("sorts the newest readable first, and the broken last", () => {
  const runs = [
    run("old", span("1", "ready", { modified_s: 1 })),
    run("broken", span("1", "failed", { modified_s: 9 })),
    run("new", span("1", "queued", { modified_s: 5 })),
    run("without content", { ...span("1", "queued", { modified_s: 8 }), size_bytes: 0 }),
    run("half", span("1", "failed", { modified_s: 3 }), span("2", "ready", { modified_s: 2 })),
    { name: "empty", workers: [] },
    run("undated", span("1", "ready")),
    run("undated too", span("1", "ready")),
  ];
  expect(newestFirst(runs).map(({ name }) => name)).toEqual(["new", "half", "old", "undated", "undated too", "broken", "without content"]);
});
