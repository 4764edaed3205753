/**
 * One search over all stacked workers: each server answer holds the hits of one worker, here they are merged in
 * the order of the common clock.
 *
 *     rank 0   |gemm|        |gemm|          1    3
 *     rank 1      |gemm|        |gemm|         2    4
 */
import { ApiError, apiUrl, fetchJson, type Query } from "../api/client";
import { fetchUncached } from "../api/queryClient";
import type { TimelineSearchAnswer, TimelineSlicePayload } from "../generated/schema";
import { answerMatches, type StackMatches } from "./matches";
import { onScreen, type Stack, type StackPart } from "./stack";

/** The slice that next and previous hits are counted from. */
export interface SearchOrigin {
  readonly part: StackPart;
  readonly id: number;
  /** On screen. */
  readonly startNs: number;
}

/** A hit, its slice as it is on screen. */
export interface StackHit {
  readonly part: StackPart;
  readonly slice: TimelineSlicePayload;
}

export interface StackResult {
  readonly text: string;
  readonly count: number;
  readonly nameCount: number;
  /** Number of hits up to and including the origin. */
  readonly position: number;
  /** Workers that did not answer, and why: their hits are missing. */
  readonly problems: readonly string[];
  /** What matches, by worker. */
  readonly matches: StackMatches;
  /** Of all workers, spread evenly when they are many. */
  readonly hits: readonly TimelineSlicePayload[];
  /** From the origin, wrapping around at the ends. */
  readonly next: StackHit | null;
  readonly previous: StackHit | null;
}

/** The query to one worker: its hits around the origin, in its own time. Of hits that begin at the same time the upper worker's is first. */
export function searchQuery(stack: Stack, part: StackPart, text: string, origin: SearchOrigin | null): Query {
  const query = { ...part.query, q: text };
  if (origin === null) return { ...query, from_ns: -1 };
  if (origin.part === part) return { ...query, from_slice: origin.id };
  const isAbove = stack.parts.indexOf(part) < stack.parts.indexOf(origin.part);
  return { ...query, from_ns: origin.startNs - part.shiftNs + (isAbove ? 1 : 0) };
}

interface PartAnswer {
  readonly part: StackPart;
  readonly answer: TimelineSearchAnswer;
}

/**
 * Merges the answers of the workers.
 *
 * @param results The workers in the order of the stack, each with its answer or error.
 */
export function resultInStack(results: readonly { readonly part: StackPart; readonly answer: TimelineSearchAnswer | ApiError }[]): StackResult {
  const answers = results.flatMap(({ part, answer }): PartAnswer[] => (answer instanceof ApiError ? [] : [{ part, answer }]));
  const problems = results.flatMap(({ part, answer }) => (answer instanceof ApiError ? [`${part.worker}: ${answer.message}`] : []));
  const sum = (pick: (answer: TimelineSearchAnswer) => number) => answers.reduce((total, { answer }) => total + pick(answer), 0);
  const ends = (pick: (answer: TimelineSearchAnswer) => TimelineSlicePayload | null | undefined) =>
    answers
      .flatMap(({ part, answer }): StackHit[] => {
        const slice = pick(answer);
        return slice == null ? [] : [{ part, slice: onScreen(part, slice) }];
      })
      .toSorted((one, other) => one.slice.start_ns - other.slice.start_ns);
  const names = new Set(answers.flatMap(({ answer }) => answer.names.map(({ name }) => name)));
  return {
    text: answers[0]?.answer.query ?? "",
    count: sum(({ count }) => count),
    nameCount: Math.max(names.size, ...answers.map(({ answer }) => answer.name_count)),
    position: sum(({ position }) => position ?? 0),
    problems,
    matches: new Map(answers.map(({ part, answer }) => [part, answerMatches(answer)])),
    hits: hitsOf(answers),
    next: ends(({ next }) => next)[0] ?? ends(({ hits }) => hits[0])[0] ?? null,
    previous: ends(({ previous }) => previous).at(-1) ?? ends(({ hits }) => hits.at(-1)).at(-1) ?? null,
  };
}

/** The next or previous slice of exactly that name on any worker of the stack, by the common clock; null where there is none. Workers that do not answer are left out. */
export async function sameNameInStack(stack: Stack, origin: SearchOrigin, name: string, direction: 1 | -1): Promise<StackHit | null> {
  const settled = await Promise.allSettled(
    stack.parts.map(async (part) => ({ part, answer: await fetchUncached(apiUrl("timeline/search", searchQuery(stack, part, `=${name}`, origin)), fetchJson<TimelineSearchAnswer>) })),
  );
  return nearestHit(settled.flatMap((each) => (each.status === "fulfilled" ? [each.value] : [])), direction);
}

/** The first of the next hits, or the last of the previous ones; of equal starts the upper worker's is the earlier one. */
export function nearestHit(answers: readonly PartAnswer[], direction: 1 | -1): StackHit | null {
  const hits = answers.flatMap(({ part, answer }): StackHit[] => {
    const slice = direction === 1 ? answer.next : answer.previous;
    return slice === null ? [] : [{ part, slice: onScreen(part, slice) }];
  });
  const inOrder = hits.toSorted((one, other) => one.slice.start_ns - other.slice.start_ns);
  return inOrder.at(direction === 1 ? 0 : -1) ?? null;
}

/** More marks melt into one on any screen, and every frame draws them. */
const MAX_HITS = 2000;

function hitsOf(answers: readonly PartAnswer[]): TimelineSlicePayload[] {
  const total = answers.reduce((sum, { answer }) => sum + answer.hits.length, 0);
  const every = Math.max(1, total / MAX_HITS);
  return answers.flatMap(({ part, answer: { hits } }) =>
    Array.from({ length: Math.floor(hits.length / every) }, (_, index) => hits[Math.floor(index * every)]).flatMap((hit) => (hit === undefined ? [] : [onScreen(part, hit)])),
  );
}
