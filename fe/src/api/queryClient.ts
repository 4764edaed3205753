/**
 * The client of all requests to the server (TanStack Query): fetching, retrying, caching. Nothing else in the
 * pages sends a request.
 */
import { QueryClient, type QueryFunctionContext } from "@tanstack/react-query";

import { limitCache } from "./cacheLimit";
import { ApiError, BusyError, NO_ANSWER, PendingError } from "./client";

const POLL_PENDING_MS = 400;
const NO_ANSWER_MS = 3000;
const SHORTEST_BUSY_S = 1;
const LONGEST_BUSY_S = 30;
/** So many busy answers in a row are shown to the user; a page goes on retrying. */
export const BUSY_TRIES = 5;
/** How long and how much of the answers that no page shows stays cached. */
const CACHE_MS = 5 * 60_000;
const CACHE_BYTES = 64 * 2 ** 20;

/** Whether a retry can succeed without anybody doing anything. */
export function isTransient(error: Error): boolean {
  return error instanceof PendingError || error instanceof BusyError || (error instanceof ApiError && error.failure.code === NO_ANSWER);
}

export function retryDelayMs(error: Error): number {
  if (error instanceof PendingError) return POLL_PENDING_MS;
  return error instanceof BusyError ? 1000 * Math.min(Math.max(error.retryAfterS, SHORTEST_BUSY_S), LONGEST_BUSY_S) : NO_ANSWER_MS;
}

export function createQueryClient(cacheBytes = CACHE_BYTES): QueryClient {
  const client = new QueryClient({
    defaultOptions: {
      queries: {
        retry: (_, error) => isTransient(error),
        retryDelay: (_, error) => retryDelayMs(error),
        // The state of the files is part of the key of an answer, so an answer never becomes stale.
        staleTime: Infinity,
        gcTime: CACHE_MS,
        // The server may be this machine, whatever the network says.
        networkMode: "always",
        refetchOnWindowFocus: false,
      },
    },
  });
  limitCache(client, cacheBytes);
  return client;
}

export const queryClient = createQueryClient();

/** One fetch for a query; counts how often in a row the server was busy. */
export async function fetchCountingBusy<T>({ client, queryKey, signal }: QueryFunctionContext, fetchOnce: (signal: AbortSignal) => Promise<T>): Promise<T> {
  try {
    return await fetchOnce(signal);
  } catch (error) {
    const before = client.getQueryState(queryKey)?.fetchFailureReason;
    if (error instanceof BusyError && before instanceof BusyError) error.tries = before.tries + 1;
    throw error;
  }
}

let requestCount = 0;

/**
 * An answer that no component shows: a tile, an export. Retries while the trace is read or the server is busy;
 * the answer is not cached.
 *
 * @param fetchOnce `fetchJson` or `fetchBytes`.
 * @throws ApiError when there is no answer; the reason of `signal` when it was aborted.
 */
export async function fetchUncached<T>(
  url: string,
  fetchOnce: (url: string, signal?: AbortSignal) => Promise<T>,
  { signal, client = queryClient }: { readonly signal?: AbortSignal; readonly client?: QueryClient } = {},
): Promise<T> {
  // A key per request: cancelling one leaves the others alone.
  const queryKey = ["once", url, requestCount++];
  const cancel = () => void client.cancelQueries({ queryKey, exact: true });
  signal?.throwIfAborted();
  signal?.addEventListener("abort", cancel, { once: true });
  try {
    return await client.query({
      queryKey,
      queryFn: (context) => fetchCountingBusy(context, (querySignal) => fetchOnce(url, querySignal)),
      retry: (_, error) => error instanceof PendingError || (error instanceof BusyError && error.tries < BUSY_TRIES),
      staleTime: 0,
      gcTime: 0,
    });
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener("abort", cancel);
  }
}
