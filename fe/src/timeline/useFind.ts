/** The search on the timeline: its text in the address, its hits, and the steps from one to the next. */
import { useCallback, useEffect, useMemo, useRef, useState } from "react";

import { ApiError } from "../api/client";
import { useAnswer, useAnswers, type Request } from "../api/hooks";
import type { TimelineSearchAnswer, TimelineSlicePayload } from "../generated/schema";
import { useParams } from "../state/urlStore";
import { searchQuery, resultInStack, type SearchOrigin, type StackHit, type StackResult } from "./findInStack";
import type { StackMatches } from "./matches";
import type { Stack, StackPart } from "./stack";
import type { FollowedSlice } from "./useFollowedSlice";
import { writeAddress } from "./visit";

export interface Find {
  readonly text: string;
  readonly result: StackResult | null;
  readonly hits: readonly TimelineSlicePayload[];
  /** What is highlighted; null without a search, or until its answer arrives. */
  readonly matches: StackMatches | null;
  /** Searches for a text, and goes to a hit of it as soon as there is one. */
  readonly search: (text: string, direction: 1 | -1 | null) => void;
  /** Goes to the next or previous hit, wrapping around at the ends, once the answer has arrived. */
  readonly step: (direction: 1 | -1) => void;
}

interface PendingStep {
  readonly text: string;
  readonly direction: 1 | -1;
}

const ROUTE = "timeline/search";
const NO_HITS: readonly TimelineSlicePayload[] = [];

/**
 * @param part The worker whose slice is selected.
 * @param id The selected slice: hits are counted from it.
 * @param hasInitialViewport Whether the address holds the visible range: if not, the page goes to the first hit by itself.
 */
export function useFind(stack: Stack, part: StackPart, id: number | null, followed: FollowedSlice, hasInitialViewport: boolean): Find {
  const text = useParams()["find"] ?? "";
  const [steppedTo, setSteppedTo] = useState<StackHit | null>(null);
  const origin = useMemo(() => originOf(part, id, followed.slice, steppedTo), [part, id, followed.slice, steppedTo]);
  const { result, isFresh } = useResult(stack, part, text, id, origin);
  // The hits do not depend on the origin; memoized, so that the picture is not drawn again.
  const newest = result?.hits ?? NO_HITS;
  const key = result === null ? "" : [result.text, result.count, newest.length, newest[0]?.start_ns, newest.at(-1)?.start_ns].join(" ");
  // eslint-disable-next-line react-hooks/exhaustive-deps -- `key` stands for the hits
  const hits = useMemo(() => newest, [key]);
  // eslint-disable-next-line react-hooks/exhaustive-deps -- `key` stands for what matches as well
  const matches = useMemo(() => result?.matches ?? null, [key]);

  const { go } = followed;
  // A step that was requested before the answer it needs had arrived.
  const pending = useRef<PendingStep | null>(!hasInitialViewport && text !== "" && id === null ? { text, direction: 1 } : null);
  const step = useCallback(
    (direction: 1 | -1) => {
      pending.current = isFresh ? null : { text, direction };
      const hit = direction === 1 ? result?.next : result?.previous;
      if (!isFresh || hit == null) return;
      setSteppedTo(hit);
      go(hit.slice.id, hit.part.worker);
    },
    [text, result, isFresh, go],
  );
  const search = useCallback(
    (next: string, direction: 1 | -1 | null) => {
      if (next === text) {
        if (direction !== null) step(direction);
        return;
      }
      pending.current = direction === null ? null : { text: next, direction };
      writeAddress({ find: next });
    },
    [text, step],
  );
  useEffect(() => {
    if (isFresh && pending.current?.text === text) step(pending.current.direction);
  }, [isFresh, text, step]);
  return { text, result, hits, matches, search, step };
}

/** The position of the selected slice: known at once when a step led to it, else when its worker has answered. */
function originOf(part: StackPart, id: number | null, slice: TimelineSlicePayload | null, steppedTo: StackHit | null): SearchOrigin | null {
  if (id === null) return null;
  const known = slice ?? (steppedTo?.part === part && steppedTo.slice.id === id ? steppedTo.slice : null);
  return known === null ? null : { part, id, startNs: known.start_ns };
}

interface Result {
  readonly result: StackResult | null;
  /** Whether it is the result around the current origin. */
  readonly isFresh: boolean;
}

/** The result around the origin; the one around the previous origin while the new one loads. */
function useResult(stack: Stack, part: StackPart, text: string, id: number | null, origin: SearchOrigin | null): Result {
  // The worker of the slice counts from the slice itself, wherever that is.
  const partQuery = searchQuery(stack, part, text, id === null ? null : { part, id, startNs: 0 });
  const resource = useAnswer<TimelineSearchAnswer>(text === "" ? null : ROUTE, partQuery);
  const answer = text !== "" && resource.state === "ready" ? resource.data : null;
  const others = useMemo(() => stack.parts.filter((each) => each !== part), [stack, part]);
  const isReady = others.length === 0 || (text !== "" && (id === null || origin !== null));
  const otherAnswers = useSearches(isReady ? others.map((each) => ({ route: ROUTE, query: searchQuery(stack, each, text, origin) })) : null);
  const fresh = useMemo(() => {
    if (answer === null || otherAnswers === null) return null;
    const answerOf = (each: StackPart) => (each === part ? answer : otherAnswers[others.indexOf(each)]);
    return resultInStack(
      stack.parts.flatMap((each) => {
        const one = answerOf(each);
        return one === undefined ? [] : [{ part: each, answer: one }];
      }),
    );
  }, [answer, otherAnswers, stack, part, others]);
  const [last, setLast] = useState<StackResult | null>(null);
  if (fresh !== null && fresh !== last) setLast(fresh);
  return { result: fresh ?? (last?.text === text ? last : null), isFresh: fresh !== null };
}

type SearchAnswer = TimelineSearchAnswer | ApiError;

/**
 * Searches in several workers: the answers in the order of the requests once all have arrived or failed; null until then.
 *
 * @param requests Null requests nothing yet.
 */
function useSearches(requests: readonly Request[] | null): readonly SearchAnswer[] | null {
  const resources = useAnswers<TimelineSearchAnswer>(requests ?? [], requests?.[0]?.query.worker === undefined ? {} : { ...requests[0].query, worker: null });
  const isActive = requests !== null;
  return useMemo(() => {
    if (!isActive) return null;
    const settled = resources.flatMap((each): SearchAnswer[] =>
      each.state === "ready" ? [each.data] : each.state === "failed" ? [new ApiError(each.failure, 0)] : [],
    );
    return settled.length === resources.length ? settled : null;
  }, [isActive, resources]);
}
