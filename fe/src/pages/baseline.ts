/**
 * Which trace the one in the bar above is compared with: what the address names, else the one that has
 * most in common with it.
 */
import type { Runs } from "../api/types";
import type { Params } from "../state/address";
import { resolveTarget, type Target } from "../state/target";

export interface Baseline {
  readonly run: string;
  readonly worker: string;
  readonly span: string;
}

export interface Choice extends Baseline {
  /** Its file could not be read. */
  readonly failed: boolean;
}

export interface ChosenBaseline {
  readonly trace: Baseline;
  /** What the address names but nobody knows, in words; else null. */
  readonly unknown: string | null;
  /** Whether the address says so, and it means the same tomorrow. */
  readonly isNamed: boolean;
}

/** Every trace there is, as something to compare with. */
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

/** The parameters that name it. */
export function baselineParams({ run, worker, span }: Baseline) {
  return { baseline_run: run, baseline_worker: worker, baseline_span: span };
}

export function traceOf({ run, worker, span }: Target): Baseline {
  return { run: run.name, worker: worker.name, span: span.name };
}

/** `empty`: traces that turned out to hold no event, so that nothing can be compared with them. */
export function chooseBaseline(runs: Runs, params: Params, target: Target, empty: readonly Baseline[] = []): ChosenBaseline {
  const named = { run: params["baseline_run"], worker: params["baseline_worker"], span: params["baseline_span"] };
  const given = Object.entries(named).flatMap(([key, name]) => (name === undefined ? [] : [[key, name] as const]));
  if (given.length > 0) {
    const match = resolveTarget(runs, { run: target.run.name, ...Object.fromEntries(given) });
    if (match !== null) return { trace: traceOf(match), unknown: match.unknown, isNamed: true };
  }
  const here = traceOf(target);
  const choices = allTraces(runs.runs);
  const filled = choices.filter((choice) => !empty.some((other) => isSame(choice, other)));
  return { trace: likeliest(filled, here) ?? likeliest(choices, here) ?? here, unknown: null, isNamed: false };
}

/** The best of the others that can be read; of equals the first of the nearest run before, else after. */
function likeliest(choices: readonly Choice[], here: Baseline): Baseline | undefined {
  const runs = [...new Set(choices.map(({ run }) => run))];
  const place = runs.indexOf(here.run);
  const distance = ({ run }: Choice) => (runs.indexOf(run) <= place ? place - runs.indexOf(run) : runs.indexOf(run) + runs.length);
  const [best] = choices
    .filter((choice) => !choice.failed && !isSame(choice, here))
    .map((choice) => ({ choice, likeness: likeness(choice, here), distance: distance(choice) }))
    .sort((a, b) => b.likeness - a.likeness || a.distance - b.distance);
  return best === undefined ? undefined : { run: best.choice.run, worker: best.choice.worker, span: best.choice.span };
}

const SAME_RUN = 1000;
const SAME_WORKER = 2;
const SAME_SPAN = 1;

/** A span of the same worker, another worker of the run, a run with nearly the same name, any other. */
function likeness(choice: Baseline, here: Baseline): number {
  const run = choice.run === here.run ? SAME_RUN : (SAME_WORKER + SAME_SPAN + 1) * commonWords(choice.run, here.run);
  return run + (choice.worker === here.worker ? SAME_WORKER : 0) + (choice.span === here.span ? SAME_SPAN : 0);
}

/** "cpu_slowloader_nw0" and "cpu_slowloader_nw2" begin with two words in common. */
function commonWords(a: string, b: string): number {
  const [left, right] = [a, b].map((name) => name.toLowerCase().split(/[^\p{L}\p{N}]+/u));
  const different = left?.findIndex((word, index) => word !== right?.[index]) ?? 0;
  return different < 0 ? (left?.length ?? 0) : different;
}
