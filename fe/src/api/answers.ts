/**
 * What the server answered: asked for, waited for, kept and forgotten in one place (TanStack Query).
 * Nothing else in the pages asks the server.
 */
import { QueryClient, type QueryFunctionContext } from "@tanstack/react-query";

import { ApiError, BusyError, NO_ANSWER, PendingError } from "./client";
import { boundKept } from "./kept";

const POLL_PENDING_MS = 400;
const NO_ANSWER_MS = 3000;
const SHORTEST_BUSY_S = 1;
const LONGEST_BUSY_S = 30;
/** A server that is busy for so long is told to the user; a page goes on asking. */
export const BUSY_TRIES = 5;
/** How long an answer is kept that no page shows, and how much of such answers. */
const KEPT_MS = 5 * 60_000;
const KEPT_BYTES = 64 * 2 ** 20;

/** Whether asking again by itself can help, and is all there is to do. */
export function isPassing(error: Error): boolean {
  return error instanceof PendingError || error instanceof BusyError || (error instanceof ApiError && error.failure.code === NO_ANSWER);
}

export function waitMs(error: Error): number {
  if (error instanceof PendingError) return POLL_PENDING_MS;
  return error instanceof BusyError ? 1000 * Math.min(Math.max(error.retryAfterS, SHORTEST_BUSY_S), LONGEST_BUSY_S) : NO_ANSWER_MS;
}

export function makeAnswers(keptBytes = KEPT_BYTES): QueryClient {
  const client = new QueryClient({
    defaultOptions: {
      queries: {
        retry: (_, error) => isPassing(error),
        retryDelay: (_, error) => waitMs(error),
        // An answer is of one state of its files, which is part of its key: it never grows old.
        staleTime: Infinity,
        gcTime: KEPT_MS,
        // The server may be this machine, whatever the network says.
        networkMode: "always",
        refetchOnWindowFocus: false,
      },
    },
  });
  boundKept(client, keptBytes);
  return client;
}

export const answers = makeAnswers();

/** As `fetch` does it, once, for a query: counts how often the server was busy in a row. */
export async function askOnce<T>({ client, queryKey, signal }: QueryFunctionContext, fetchOnce: (signal: AbortSignal) => Promise<T>): Promise<T> {
  try {
    return await fetchOnce(signal);
  } catch (error) {
    const before = client.getQueryState(queryKey)?.fetchFailureReason;
    if (error instanceof BusyError && before instanceof BusyError) error.tries = before.tries + 1;
    throw error;
  }
}

let questions = 0;

/**
 * An answer that no component shows: a tile, an export. It is waited for while the trace is read or the
 * server is busy, and not kept.
 *
 * @param fetchOnce Of `client.ts`.
 * @throws ApiError when there is none; what `signal` says when it is no longer wanted.
 */
export async function askFor<T>(
  url: string,
  fetchOnce: (url: string, signal?: AbortSignal) => Promise<T>,
  { signal, client = answers }: { readonly signal?: AbortSignal; readonly client?: QueryClient } = {},
): Promise<T> {
  // Each has a name of its own: who leaves takes nobody else's answer along.
  const queryKey = ["once", url, questions++];
  const leave = () => void client.cancelQueries({ queryKey, exact: true });
  signal?.throwIfAborted();
  signal?.addEventListener("abort", leave, { once: true });
  try {
    return await client.query({
      queryKey,
      queryFn: (context) => askOnce(context, (own) => fetchOnce(url, own)),
      retry: (_, error) => error instanceof PendingError || (error instanceof BusyError && error.tries < BUSY_TRIES),
      staleTime: 0,
      gcTime: 0,
    });
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener("abort", leave);
  }
}
