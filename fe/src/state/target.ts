/** The trace that the page shows: the one named in the address, else the newest readable one. */
import type { Query } from "../api/client";
import type { Run, Runs, Span, Worker } from "../api/types";
import type { Params } from "./address";
import { isReadable, newestFirst } from "./traceOrder";

export interface Target {
  readonly run: Run;
  readonly worker: Worker;
  readonly span: Span;
  /** What the address names but the server does not list, as text; null when all is known. */
  readonly unknown: string | null;
}

/** @param previousRun The run shown so far without being named: it stays when newer runs appear, unless it is broken. */
export function resolveTarget(runs: Runs, params: Params, previousRun: string | null = null): Target | null {
  const unknown: string[] = [];
  const pick = <T extends { readonly name: string }>(kind: string, items: readonly T[], name: string | undefined) => {
    const match = name === undefined ? undefined : items.find((item) => item.name === name);
    if (name !== undefined && match === undefined) unknown.push(`${kind} “${name}”`);
    return match ?? items[0];
  };
  const usable = newestFirst(runs.runs);
  const previous = usable.filter((each) => each.name === previousRun && isReadable(each));
  const run = pick("run", [...previous, ...usable], params["run"]);
  if (run === undefined) return null;
  const workers = run.workers.filter((each) => each.spans.length > 0);
  const worker = pick("worker", readableFirst(workers, ({ spans }) => spans), params["worker"]);
  const span = worker === undefined ? undefined : pick("span", readableFirst(worker.spans, (each) => [each]), params["span"]);
  if (worker === undefined || span === undefined) return null;
  return { run, worker, span, unknown: unknown.length > 0 ? unknown.join(", ") : null };
}

function readableFirst<T>(items: readonly T[], spans: (item: T) => readonly Span[]): T[] {
  const isBroken = (item: T) => spans(item).every(({ state }) => state === "failed");
  return [...items.filter((item) => !isBroken(item)), ...items.filter(isBroken)];
}

/** The parameters that name the trace. */
export function traceQuery({ run, worker, span }: Target): Query {
  return { run: run.name, worker: worker.name, span: span.name };
}
