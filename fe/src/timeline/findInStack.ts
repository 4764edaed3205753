/**
 * One search over all stacked workers: each is asked for its own hits, here they are walked through in the
 * order of the common clock.
 *
 *     rank 0   |gemm|        |gemm|          1    3
 *     rank 1      |gemm|        |gemm|         2    4
 */
import { ApiError, type Query } from "../api/client";
import type { TimelineSearchAnswer, TimelineSlicePayload } from "../generated/schema";
import { foundOf, type FoundInStack } from "./marks";
import { onScreen, type Stack, type StackPart } from "./stack";

/** The slice that is walked on from. */
export interface FindPlace {
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
  /** Hits up to and including the place. */
  readonly position: number;
  /** Workers that did not answer, and why: their hits are missing. */
  readonly problems: readonly string[];
  /** What matches, by worker. */
  readonly found: FoundInStack;
  /** Of all workers, spread evenly when they are many. */
  readonly hits: readonly TimelineSlicePayload[];
  /** From the place, around the ends. */
  readonly next: StackHit | null;
  readonly previous: StackHit | null;
}

/** What a worker is asked: the hits around the place, in its own time. Of hits that begin at once the upper worker's is first. */
export function askOf(stack: Stack, part: StackPart, text: string, place: FindPlace | null): Query {
  const ask = { ...part.query, q: text };
  if (place === null) return { ...ask, from_ns: -1 };
  if (place.part === part) return { ...ask, from_slice: place.id };
  const isAbove = stack.parts.indexOf(part) < stack.parts.indexOf(place.part);
  return { ...ask, from_ns: place.startNs - part.shiftNs + (isAbove ? 1 : 0) };
}

interface PartAnswer {
  readonly part: StackPart;
  readonly answer: TimelineSearchAnswer;
}

/**
 * What the workers answered, as one.
 *
 * @param asked The workers in the order of the stack, with what they answered or why they did not.
 */
export function resultInStack(asked: readonly { readonly part: StackPart; readonly answer: TimelineSearchAnswer | ApiError }[]): StackResult {
  const answers = asked.flatMap(({ part, answer }): PartAnswer[] => (answer instanceof ApiError ? [] : [{ part, answer }]));
  const problems = asked.flatMap(({ part, answer }) => (answer instanceof ApiError ? [`${part.worker}: ${answer.message}`] : []));
  const sum = (of: (answer: TimelineSearchAnswer) => number) => answers.reduce((total, { answer }) => total + of(answer), 0);
  const ends = (of: (answer: TimelineSearchAnswer) => TimelineSlicePayload | null | undefined) =>
    answers
      .flatMap(({ part, answer }): StackHit[] => {
        const slice = of(answer);
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
    found: new Map(answers.map(({ part, answer }) => [part, foundOf(answer)])),
    hits: hitsOf(answers),
    next: ends(({ next }) => next)[0] ?? ends(({ hits }) => hits[0])[0] ?? null,
    previous: ends(({ previous }) => previous).at(-1) ?? ends(({ hits }) => hits.at(-1)).at(-1) ?? null,
  };
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
