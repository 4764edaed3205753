/** Answers of the server as React state: cached, polled while a trace is read, never a stale mix. */
import { useEffect, useState } from "react";

import { ApiError, apiUrl, request, type Query } from "./client";
import type { Failure, Span, View } from "./types";

export type Resource<T> =
  | { readonly state: "loading"; readonly last: T | null }
  | { readonly state: "pending"; readonly span: Span }
  | { readonly state: "ready"; readonly data: T }
  | { readonly state: "failed"; readonly failure: Failure };

const POLL_PENDING_MS = 400;
const RETRY_MS = 3000;
const CACHE_ENTRIES = 60;
const cache = new Map<string, unknown>();

function remember(url: string, data: unknown): void {
  cache.delete(url);
  cache.set(url, data);
  const oldest = cache.keys().next();
  if (cache.size > CACHE_ENTRIES && oldest.done !== true) cache.delete(oldest.value);
}

/** Forgets every answer, as when a trace file was replaced. */
export function forgetAnswers(): void {
  cache.clear();
}

/** The answer at `url`; null asks nothing. While the next one is fetched, `last` is the one before. */
export function useResource<T>(url: string | null): Resource<T> {
  const [answer, setAnswer] = useState<{ url: string | null; resource: Resource<T> }>({
    url: null,
    resource: { state: "loading", last: null },
  });
  const [last, setLast] = useState<T | null>(null);

  useEffect(() => {
    if (url === null || cache.has(url)) return;
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async () => {
      const resource = await fetchResource<T>(url, abort.signal);
      if (resource === null) return;
      setAnswer({ url, resource });
      if (resource.state === "pending") timer = setTimeout(() => void ask(), POLL_PENDING_MS);
      if (resource.state === "failed" && isPassing(resource.failure)) timer = setTimeout(() => void ask(), RETRY_MS);
    };
    void ask();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [url]);

  let resource: Resource<T>;
  if (url !== null && cache.has(url)) resource = { state: "ready", data: cache.get(url) as T };
  else if (url !== null && answer.url === url) resource = answer.resource;
  else resource = { state: "loading", last };
  if (resource.state === "ready" && resource.data !== last) setLast(() => resource.data);
  return resource;
}

function isPassing(failure: Failure): boolean {
  return failure.code === "no_answer";
}

async function fetchResource<T>(url: string, signal: AbortSignal): Promise<Resource<T> | null> {
  try {
    const answer = await request<T>(url, signal);
    if (answer.state === "pending") return answer;
    remember(url, answer.data);
    return { state: "ready", data: answer.data };
  } catch (error) {
    if (signal.aborted) return null;
    if (error instanceof ApiError) return { state: "failed", failure: error.failure };
    throw error;
  }
}

export function useView(name: string | null, query: Query): Resource<View> {
  return useResource<View>(name === null ? null : apiUrl(`view/${name}`, query));
}
