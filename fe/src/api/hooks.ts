/** Answers of the server as React state, always of the current state of the files. */
import { keepPreviousData, queryOptions, skipToken, useQueries, useQuery, type UseQueryResult } from "@tanstack/react-query";
import { useMemo } from "react";

import { ApiError, apiUrl, fetchJson, type Query } from "./client";
import type { FileState } from "./fileState";
import { fetchCountingBusy, isTransient, queryClient, retryDelayMs } from "./queryClient";
import { toResource, type Resource } from "./resource";
import { useFileState } from "./runs";
import type { View } from "./types";

/** A route and its parameters, which name the trace. */
export interface Request {
  readonly route: string;
  readonly query: Query;
}

/**
 * The answer of `route`; null sends no request. While the next answer is fetched, `last` is the previous one.
 *
 * @param about Names the traces that the answer depends on, where these are more than `query` names.
 */
export function useAnswer<T>(route: string | null, query: Query, about: Query = query): Resource<T> {
  const files = useFileState(about);
  const { data, status, isPlaceholderData, error, failureReason } = useQuery(answerOptions(route === null ? null : { route, query }, files));
  const hasData = status === "success" && !isPlaceholderData;
  const reason = error ?? failureReason;
  return useMemo(() => toResource<T>(hasData, data, reason), [hasData, data, reason]);
}

/** An answer with the time from its request to its arrival. */
export interface Timed<T> {
  readonly data: T;
  readonly elapsedMs: number;
}

/** As {@link useAnswer}, with the time that the answer took. Without a request, one that runs is aborted. */
export function useTimedAnswer<T>(route: string | null, query: Query): Resource<Timed<T>> {
  const files = useFileState(query);
  const { data, status, isPlaceholderData, error, failureReason } = useQuery(answerOptions(route === null ? null : { route, query }, files, fetchTimed));
  const hasData = status === "success" && !isPlaceholderData;
  const reason = error ?? failureReason;
  return useMemo(() => toResource<Timed<T>>(hasData, data, reason), [hasData, data, reason]);
}

async function fetchTimed(url: string, signal?: AbortSignal): Promise<Timed<unknown>> {
  const startMs = performance.now();
  const data = await fetchJson(url, signal);
  return { data, elapsedMs: performance.now() - startMs };
}

/** Requests an answer again that is shown, or failed. */
export function repeatAnswer(route: string, query: Query): void {
  void queryClient.resetQueries({ queryKey: ["answer", apiUrl(route, query)] });
}

/** Several answers about the same traces, in the order of the requests. */
export function useAnswers<T>(requests: readonly Request[], about: Query): readonly Resource<T>[] {
  const files = useFileState(about);
  return useQueries({ queries: requests.map((request) => answerOptions(request, files)), combine: toResources }) as readonly Resource<T>[];
}

export function useView(name: string | null, query: Query): Resource<View> {
  return useAnswer<View>(name === null ? null : `view/${name}`, query);
}

/** A view whose findings may take longer than its tables: first without them, where the server has not computed them yet. */
export function useViewBeforeFindings(name: string | null, query: Query): Resource<View> {
  const tables = useView(name, { ...query, findings: "later" });
  const isPending = tables.state === "ready" && tables.data.findings_pending === true;
  const whole = useView(isPending ? name : null, query);
  if (isPending) return whole.state === "ready" || whole.state === "failed" ? whole : tables;
  // While another selection is computed, the last answer that is complete stays.
  const wasPending = tables.state === "loading" && tables.last?.findings_pending === true;
  return wasPending && whole.state === "loading" && whole.last !== null ? whole : tables;
}

/** Requests the lists of views again: with the workers that a view of a run opened, the server knows better which have data. */
export function refreshViewLists(): void {
  const url = apiUrl("views", {});
  void queryClient.invalidateQueries({ predicate: ({ queryKey: [kind, address] }) => kind === "answer" && typeof address === "string" && address.startsWith(url) });
}

/** Query options of one answer; the state of its files is part of the key. */
function answerOptions(request: Request | null, files: FileState, fetchOnce: (url: string, signal?: AbortSignal) => Promise<unknown> = fetchJson) {
  const url = request === null ? null : apiUrl(request.route, request.query);
  const retryMs = files.retryS === null ? null : 1000 * Math.max(1, files.retryS);
  return queryOptions({
    queryKey: ["answer", url, files.key],
    queryFn: url === null ? skipToken : (context) => fetchCountingBusy(context, (signal) => fetchOnce(url, signal)),
    placeholderData: keepPreviousData,
    // Failed files that may recover: the answer is fetched again; without an answer the failure shows meanwhile.
    refetchInterval: retryMs ?? false,
    retry: (_, error) => isTransient(error) || (retryMs !== null && error instanceof ApiError),
    retryDelay: (_, error) => (isTransient(error) ? retryDelayMs(error) : (retryMs ?? 0)),
  });
}

function toResources(results: readonly UseQueryResult[]): readonly Resource<unknown>[] {
  return results.map(({ data, status, isPlaceholderData, error, failureReason }) =>
    toResource(status === "success" && !isPlaceholderData, data, error ?? failureReason),
  );
}
