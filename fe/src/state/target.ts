/** Which trace is looked at: what the address names, else the first there is. */
import type { Run, Runs, Span, Worker } from "../api/types";
import type { Query } from "../api/client";
import type { Params } from "./address";

export interface Target {
  readonly run: Run;
  readonly worker: Worker;
  readonly span: Span;
  /** What the address names but nobody knows, in words; else null. */
  readonly unknown: string | null;
}

export function resolveTarget(runs: Runs, params: Params): Target | null {
  const unknown: string[] = [];
  const pick = <T extends { readonly name: string }>(kind: string, items: readonly T[], name: string | undefined) => {
    const match = name === undefined ? undefined : items.find((item) => item.name === name);
    if (name !== undefined && match === undefined) unknown.push(`${kind} “${name}”`);
    return match ?? items[0];
  };
  const usable = runs.runs.filter((run) => run.workers.some((worker) => worker.spans.length > 0));
  const run = pick("run", usable, params["run"]);
  if (run === undefined) return null;
  const worker = pick("worker", run.workers.filter((each) => each.spans.length > 0), params["worker"]);
  const span = worker === undefined ? undefined : pick("span", worker.spans, params["span"]);
  if (worker === undefined || span === undefined) return null;
  return { run, worker, span, unknown: unknown.length > 0 ? unknown.join(", ") : null };
}

/** The parameters that name the trace. */
export function traceQuery({ run, worker, span }: Target): Query {
  return { run: run.name, worker: worker.name, span: span.name };
}

/** The parameters that name the selected part of it. */
export function selectionQuery(params: Params): Query {
  return { steps: params["steps"], start_us: params["start_us"], end_us: params["end_us"] };
}
