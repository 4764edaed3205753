/** Searches in several workers, waited for together. */
import { useMemo } from "react";

import { ApiError } from "../api/client";
import { useAnswers, type Question } from "../api/hooks";
import type { TimelineSearchAnswer } from "../generated/schema";

export type SearchAnswer = TimelineSearchAnswer | ApiError;

/**
 * The answers, in the order of the questions, once all are there or will not come; null until then.
 *
 * @param questions Null asks nothing yet.
 */
export function useSearches(questions: readonly Question[] | null): readonly SearchAnswer[] | null {
  const resources = useAnswers<TimelineSearchAnswer>(questions ?? [], questions?.[0]?.query.worker === undefined ? {} : { ...questions[0].query, worker: null });
  const isAsked = questions !== null;
  return useMemo(() => {
    if (!isAsked) return null;
    const settled = resources.flatMap((each): SearchAnswer[] =>
      each.state === "ready" ? [each.data] : each.state === "failed" ? [new ApiError(each.failure, 0)] : [],
    );
    return settled.length === resources.length ? settled : null;
  }, [isAsked, resources]);
}
