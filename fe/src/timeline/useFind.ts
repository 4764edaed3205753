/** The search: its text stands in the address, its hits are counted and walked through. */
import { useCallback, useEffect, useMemo, useRef } from "react";

import { apiUrl } from "../api/client";
import { useResource } from "../api/hooks";
import type { TimelineSearchAnswer, TimelineSlicePayload } from "../generated/schema";
import { adjust, useParams } from "../state/urlStore";
import { onScreen, type StackPart } from "./stack";

export interface Find {
  readonly text: string;
  readonly answer: TimelineSearchAnswer | null;
  readonly hits: readonly TimelineSlicePayload[];
  readonly setText: (text: string) => void;
  /** To the next or previous hit, around the ends. */
  readonly step: (direction: 1 | -1) => void;
}

const NO_HITS: readonly TimelineSlicePayload[] = [];

/**
 * @param part The worker that is searched.
 * @param from The slice hits are counted from.
 * @param onHit Selects a hit.
 * @param placed Whether the address says what is on screen: if not, the first hit is gone to by itself.
 */
export function useFind(part: StackPart, from: number | null, onHit: (id: number) => void, placed: boolean): Find {
  const text = useParams()["find"] ?? "";
  const ask = text === "" ? null : { ...part.query, q: text };
  const resource = useResource<TimelineSearchAnswer>(ask === null ? null : apiUrl("timeline/search", from === null ? { ...ask, from_ns: -1 } : { ...ask, from_slice: from }));
  const found = resource.state === "ready" ? resource.data : resource.state === "loading" ? resource.last : null;
  const answer = text !== "" && found?.query === text ? found : null;
  // The hits are the same wherever one counts from; kept, so that the picture is not drawn anew.
  const newest = answer?.hits ?? NO_HITS;
  const key = answer === null ? "" : [part.prefix, answer.query, answer.count, newest[0]?.start_ns, newest.at(-1)?.start_ns].join(" ");
  // eslint-disable-next-line react-hooks/exhaustive-deps -- `key` stands for the hits
  const hits = useMemo(() => newest.map((hit) => onScreen(part, hit)), [key]);

  const step = useCallback(
    (direction: 1 | -1) => {
      if (answer === null || answer.hits.length === 0) return;
      const around = direction === 1 ? answer.hits[0] : answer.hits.at(-1);
      const hit = (direction === 1 ? answer.next : answer.previous) ?? around;
      if (hit !== undefined) onHit(hit.id);
    },
    [answer, onHit],
  );
  const setText = useCallback((next: string) => adjust({ find: next }), []);
  const jumps = useRef(!placed && text !== "" && from === null);
  useEffect(() => {
    if (!jumps.current || answer === null) return;
    jumps.current = false;
    step(1);
  }, [answer, step]);
  return { text, answer, hits, setText, step };
}
