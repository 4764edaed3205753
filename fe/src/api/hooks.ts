/** Answers of the server as React state: of the files as they are, never a stale mix. */
import { keepPreviousData, queryOptions, skipToken, useQueries, useQuery, type UseQueryResult } from "@tanstack/react-query";
import { useMemo } from "react";

import { askOnce, isPassing, waitMs } from "./answers";
import { ApiError, apiUrl, fetchJson, type Query } from "./client";
import type { FileState } from "./fileState";
import { resourceOf, type Resource } from "./resource";
import { useFileState } from "./runs";
import type { View } from "./types";

/** What to ask: a route, and its parameters; they name the trace. */
export interface Question {
  readonly route: string;
  readonly query: Query;
}

/**
 * The answer of `route`; null asks nothing. While the next one is fetched, `last` is the one before.
 *
 * @param about The traces the answer is about, where those are more than `query` names.
 */
export function useAnswer<T>(route: string | null, query: Query, about: Query = query): Resource<T> {
  const files = useFileState(about);
  const { data, status, isPlaceholderData, error, failureReason } = useQuery(answerOptions(route === null ? null : { route, query }, files));
  const isThere = status === "success" && !isPlaceholderData;
  const reason = error ?? failureReason;
  return useMemo(() => resourceOf<T>(isThere, data, reason), [isThere, data, reason]);
}

/** Several answers about the same traces, in the order of the questions. */
export function useAnswers<T>(questions: readonly Question[], about: Query): readonly Resource<T>[] {
  const files = useFileState(about);
  return useQueries({ queries: questions.map((question) => answerOptions(question, files)), combine: resourcesOf }) as readonly Resource<T>[];
}

export function useView(name: string | null, query: Query): Resource<View> {
  return useAnswer<View>(name === null ? null : `view/${name}`, query);
}

/** How an answer is asked for; the state of its files is part of its name. */
function answerOptions(question: Question | null, files: FileState) {
  const url = question === null ? null : apiUrl(question.route, question.query);
  const retryMs = files.retryS === null ? null : 1000 * Math.max(1, files.retryS);
  return queryOptions({
    queryKey: ["answer", url, files.key],
    queryFn: url === null ? skipToken : (context) => askOnce(context, (signal) => fetchJson(url, signal)),
    placeholderData: keepPreviousData,
    // An answer without the failed files is asked for anew; of none, its failure is shown meanwhile.
    refetchInterval: retryMs ?? false,
    retry: (_, error) => isPassing(error) || (retryMs !== null && error instanceof ApiError),
    retryDelay: (_, error) => (isPassing(error) ? waitMs(error) : (retryMs ?? 0)),
  });
}

function resourcesOf(results: readonly UseQueryResult[]): readonly Resource<unknown>[] {
  return results.map(({ data, status, isPlaceholderData, error, failureReason }) =>
    resourceOf(status === "success" && !isPlaceholderData, data, error ?? failureReason),
  );
}
