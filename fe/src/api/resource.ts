/** An answer of the server as a state: loading, pending, ready or failed. */
import { ApiError, BusyError, NO_ANSWER, PendingError } from "./client";
import { BUSY_TRIES } from "./queryClient";
import type { Failure, Span } from "./types";

export type Resource<T> =
  | { readonly state: "loading"; readonly last: T | null }
  | { readonly state: "pending"; readonly span: Span }
  | { readonly state: "ready"; readonly data: T }
  | { readonly state: "failed"; readonly failure: Failure };

/**
 * @param hasData Whether `data` is the answer to this request, not to the previous one.
 * @param reason Why there is no answer, or not yet.
 */
export function toResource<T>(hasData: boolean, data: unknown, reason: Error | null): Resource<T> {
  if (hasData) return { state: "ready", data: data as T };
  if (reason instanceof PendingError) return { state: "pending", span: reason.span };
  const isPatient = reason instanceof BusyError && reason.tries < BUSY_TRIES;
  // The last data stays; a banner says that the server does not answer.
  if (reason instanceof ApiError && reason.failure.code === NO_ANSWER && data !== undefined) return { state: "loading", last: data as T };
  if (reason instanceof ApiError && !isPatient) return { state: "failed", failure: reason.failure };
  // Not an error of the server: a bug of the page.
  if (reason !== null && !isPatient) throw reason;
  return { state: "loading", last: (data as T | undefined) ?? null };
}
