/**
 * The baseline of a comparison: the trace named in the address, else the marked one, else the one most similar to the
 * candidate.
 */
import type { Runs } from "../../api/types";
import type { Params } from "../../state/address";
import { resolveTarget, type Target } from "../../state/target";

export interface Baseline {
  readonly run: string;
  readonly worker: string;
  readonly span: string;
}

export interface Choice extends Baseline {
  /** Whether its file could not be read. */
  readonly failed: boolean;
}

export interface ChosenBaseline {
  readonly trace: Baseline;
  /** What the address names but the server does not list, as text; else null. */
  readonly unknown: string | null;
  /** Whether the address names it. */
  readonly isNamed: boolean;
}

/** All traces, as choices. */
export function allTraces(runs: Runs["runs"]): Choice[] {
  return runs.flatMap((run) =>
    run.workers.flatMap((worker) =>
      worker.spans.map((span) => ({ run: run.name, worker: worker.name, span: span.name, failed: span.state === "failed" })),
    ),
  );
}

export function isSame(a: Baseline, b: Baseline): boolean {
  return a.run === b.run && a.worker === b.worker && a.span === b.span;
}

/** The parameters that name a baseline. */
export function baselineParams({ run, worker, span }: Baseline) {
  return { baseline_run: run, baseline_worker: worker, baseline_span: span };
}

export function traceOf({ run, worker, span }: Target): Baseline {
  return { run: run.name, worker: worker.name, span: span.name };
}

/** The parameters that name a third side; null for none. */
export function thirdParams(trace: Baseline | null) {
  return { third_run: trace?.run ?? null, third_worker: trace?.worker ?? null, third_span: trace?.span ?? null };
}

/** The third side of the address, if the server lists it. */
export function thirdOf(choices: readonly Choice[], params: Params): Choice | null {
  const { third_run: run, third_worker: worker, third_span: span } = params as Record<string, string | undefined>;
  if (run === undefined) return null;
  return choices.find((each) => each.run === run && (worker ?? each.worker) === each.worker && (span ?? each.span) === each.span) ?? null;
}

/**
 * @param empty Traces that turned out to have no events and cannot be compared with.
 * @param marked The run that is marked as baseline.
 */
export function chooseBaseline(runs: Runs, params: Params, target: Target, empty: readonly Baseline[] = [], marked: Baseline | null = null): ChosenBaseline {
  const named = { run: params["baseline_run"], worker: params["baseline_worker"], span: params["baseline_span"] };
  const namedParts = Object.entries(named).flatMap(([key, name]) => (name === undefined ? [] : [[key, name] as const]));
  if (namedParts.length > 0) {
    const match = resolveTarget(runs, { run: target.run.name, ...Object.fromEntries(namedParts) });
    if (match !== null) return { trace: traceOf(match), unknown: match.unknown, isNamed: true };
  }
  const candidate = traceOf(target);
  const choices = allTraces(runs.runs);
  const isMarked = marked !== null && !isSame(marked, candidate) && choices.some((choice) => !choice.failed && isSame(choice, marked));
  if (isMarked && !empty.some((other) => isSame(marked, other))) return { trace: marked, unknown: null, isNamed: false };
  const filled = choices.filter((choice) => !empty.some((other) => isSame(choice, other)));
  return { trace: mostSimilar(filled, candidate) ?? mostSimilar(choices, candidate) ?? candidate, unknown: null, isNamed: false };
}

/** The most similar readable trace; on ties the first of the nearest run before, else after. */
function mostSimilar(choices: readonly Choice[], candidate: Baseline): Baseline | undefined {
  const runs = [...new Set(choices.map(({ run }) => run))];
  const candidateIndex = runs.indexOf(candidate.run);
  const distance = ({ run }: Choice) => (runs.indexOf(run) <= candidateIndex ? candidateIndex - runs.indexOf(run) : runs.indexOf(run) + runs.length);
  const [best] = choices
    .filter((choice) => !choice.failed && !isSame(choice, candidate))
    .map((choice) => ({ choice, similarity: similarity(choice, candidate), distance: distance(choice) }))
    .sort((a, b) => b.similarity - a.similarity || a.distance - b.distance);
  return best === undefined ? undefined : { run: best.choice.run, worker: best.choice.worker, span: best.choice.span };
}

const SAME_RUN = 1000;
const SAME_WORKER = 2;
const SAME_SPAN = 1;

/** Ranks spans of the same worker, other workers of the run, runs with similar names, any other. */
function similarity(choice: Baseline, candidate: Baseline): number {
  const run = choice.run === candidate.run ? SAME_RUN : (SAME_WORKER + SAME_SPAN + 1) * commonTokens(choice.run, candidate.run);
  return run + (choice.worker === candidate.worker ? SAME_WORKER : 0) + (choice.span === candidate.span ? SAME_SPAN : 0);
}

/** Number of leading tokens in common: two for "cpu_slowloader_nw0" and "cpu_slowloader_nw2". */
function commonTokens(a: string, b: string): number {
  const [left, right] = [a, b].map((name) => name.toLowerCase().split(/[^\p{L}\p{N}]+/u));
  const different = left?.findIndex((token, index) => token !== right?.[index]) ?? 0;
  return different < 0 ? (left?.length ?? 0) : different;
}
