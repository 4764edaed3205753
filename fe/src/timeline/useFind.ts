/** The search: its text stands in the address, its hits are counted and walked through. */
import { useCallback, useEffect, useMemo, useRef, useState } from "react";

import { useAnswer } from "../api/hooks";
import type { TimelineSearchAnswer, TimelineSlicePayload } from "../generated/schema";
import { useParams } from "../state/urlStore";
import { askOf, resultInStack, type FindPlace, type StackHit, type StackResult } from "./findInStack";
import type { FoundInStack } from "./marks";
import type { Stack, StackPart } from "./stack";
import type { FollowedSlice } from "./useFollowedSlice";
import { useSearches } from "./useSearches";
import { place as write } from "./visit";

export interface Find {
  readonly text: string;
  readonly result: StackResult | null;
  readonly hits: readonly TimelineSlicePayload[];
  /** What stands out; null where nothing is searched for, or not yet found. */
  readonly found: FoundInStack | null;
  /** Looks for a text, and goes to a hit of it as soon as there is one. */
  readonly search: (text: string, direction: 1 | -1 | null) => void;
  /** To the next or previous hit, around the ends; once the answer is there. */
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
 * @param placed Whether the address says what is on screen: if not, the first hit is gone to by itself.
 */
export function useFind(stack: Stack, part: StackPart, id: number | null, followed: FollowedSlice, placed: boolean): Find {
  const text = useParams()["find"] ?? "";
  const [steppedTo, setSteppedTo] = useState<StackHit | null>(null);
  const place = useMemo(() => placeOf(part, id, followed.slice, steppedTo), [part, id, followed.slice, steppedTo]);
  const { result, isFresh } = useResult(stack, part, text, id, place);
  // The hits are the same wherever one counts from; kept, so that the picture is not drawn anew.
  const newest = result?.hits ?? NO_HITS;
  const key = result === null ? "" : [result.text, result.count, newest.length, newest[0]?.start_ns, newest.at(-1)?.start_ns].join(" ");
  // eslint-disable-next-line react-hooks/exhaustive-deps -- `key` stands for the hits
  const hits = useMemo(() => newest, [key]);
  // eslint-disable-next-line react-hooks/exhaustive-deps -- `key` stands for what matches as well
  const found = useMemo(() => result?.found ?? null, [key]);

  const { go } = followed;
  // A step that was asked for before the answer to step by was there.
  const pending = useRef<PendingStep | null>(!placed && text !== "" && id === null ? { text, direction: 1 } : null);
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
      write({ find: next });
    },
    [text, step],
  );
  useEffect(() => {
    if (isFresh && pending.current?.text === text) step(pending.current.direction);
  }, [isFresh, text, step]);
  return { text, result, hits, found, search, step };
}

/** Where the selected slice is: known at once when it was stepped to, else when its worker has answered. */
function placeOf(part: StackPart, id: number | null, slice: TimelineSlicePayload | null, steppedTo: StackHit | null): FindPlace | null {
  if (id === null) return null;
  const known = slice ?? (steppedTo?.part === part && steppedTo.slice.id === id ? steppedTo.slice : null);
  return known === null ? null : { part, id, startNs: known.start_ns };
}

interface Result {
  readonly result: StackResult | null;
  /** Whether it is the one around the place. */
  readonly isFresh: boolean;
}

/** What was found around the place; what was found around the one before while that is being asked. */
function useResult(stack: Stack, part: StackPart, text: string, id: number | null, place: FindPlace | null): Result {
  // The worker of the slice counts from the slice itself, wherever that is.
  const own = askOf(stack, part, text, id === null ? null : { part, id, startNs: 0 });
  const resource = useAnswer<TimelineSearchAnswer>(text === "" ? null : ROUTE, own);
  const answer = text !== "" && resource.state === "ready" ? resource.data : null;
  const others = useMemo(() => stack.parts.filter((each) => each !== part), [stack, part]);
  const isAskable = others.length === 0 || (text !== "" && (id === null || place !== null));
  const otherAnswers = useSearches(isAskable ? others.map((each) => ({ route: ROUTE, query: askOf(stack, each, text, place) })) : null);
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
