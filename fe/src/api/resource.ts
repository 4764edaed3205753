/** An answer as React state: how far it is, and what there is meanwhile. */
import { BUSY_TRIES } from "./answers";
import { ApiError, BusyError, NO_ANSWER, PendingError } from "./client";
import type { Failure, Span } from "./types";

export type Resource<T> =
  | { readonly state: "loading"; readonly last: T | null }
  | { readonly state: "pending"; readonly span: Span }
  | { readonly state: "ready"; readonly data: T }
  | { readonly state: "failed"; readonly failure: Failure };

/**
 * @param isThere Whether `data` is the answer to this question, not to the one before.
 * @param reason Why there is none yet, or none at all.
 */
export function resourceOf<T>(isThere: boolean, data: unknown, reason: Error | null): Resource<T> {
  if (isThere) return { state: "ready", data: data as T };
  if (reason instanceof PendingError) return { state: "pending", span: reason.span };
  const isPatient = reason instanceof BusyError && reason.tries < BUSY_TRIES;
  // What was there stays; that the server is silent is said above it.
  if (reason instanceof ApiError && reason.failure.code === NO_ANSWER && data !== undefined) return { state: "loading", last: data as T };
  if (reason instanceof ApiError && !isPatient) return { state: "failed", failure: reason.failure };
  // Nothing the server said: a fault of the page.
  if (reason !== null && !isPatient) throw reason;
  return { state: "loading", last: (data as T | undefined) ?? null };
}
