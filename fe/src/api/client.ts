/** One request to the server. Every URL is below one base, set once at the start (see `setApiBase`). */
import type { Failure, Pending, Span } from "./types";

/** Why there is no answer; the message is for people. */
export class ApiError extends Error {
  constructor(
    readonly failure: Failure,
    readonly status: number,
  ) {
    super(failure.message);
    this.name = "ApiError";
  }
}

/** No answer yet: the trace is still being read; `span` has the progress. */
export class PendingError extends Error {
  constructor(readonly span: Span) {
    super(`${span.file} is still being read`);
    this.name = "PendingError";
  }
}

/** The server is overloaded and names the time of a retry: 503 with `Retry-After`. */
export class BusyError extends ApiError {
  /** How often in a row the server was busy. */
  tries = 1;

  constructor(
    failure: Failure,
    readonly retryAfterS: number,
  ) {
    super(failure, 503);
  }
}

export type Query = Readonly<Record<string, string | number | null | undefined>>;

/** The code of the failure when the server did not answer at all. */
export const NO_ANSWER = "no_answer";

let base = new URL("api/", "http://localhost/");

/** Where the server's routes are: next to TensorBoard's plugin module, or where the standalone page declares. */
export function setApiBase(url: URL): void {
  base = url;
}

/** The URL of a route; parameters that are null or empty are omitted. */
export function apiUrl(route: string, query: Query = {}): string {
  const url = new URL(route, base);
  for (const [key, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") url.searchParams.set(key, String(value));
  }
  return url.href;
}

/**
 * Sends one request.
 *
 * @throws PendingError while the trace is being read, BusyError when the server is overloaded, ApiError when it
 *   answers with another error or not at all.
 */
export async function fetchJson<T>(url: string, signal?: AbortSignal): Promise<T> {
  const response = await send(url, signal);
  return received(async () => (await response.json()) as T, signal);
}

/** As {@link fetchJson}, for binary answers. */
export async function fetchBytes(url: string, signal?: AbortSignal): Promise<ArrayBuffer> {
  const response = await send(url, signal);
  return received(() => response.arrayBuffer(), signal);
}

async function send(url: string, signal?: AbortSignal): Promise<Response> {
  const response = await received(() => fetch(url, signal === undefined ? {} : { signal }), signal);
  if (response.ok && response.status !== 202) return response;
  const body: unknown = await response.json().catch(() => null);
  if (response.ok) throw pending(body);
  const failure = failureOf(body, response);
  const retryAfterS = retryAfterOf(response);
  throw retryAfterS === null ? new ApiError(failure, response.status) : new BusyError(failure, retryAfterS);
}

async function received<T>(answer: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  try {
    return await answer();
  } catch (error) {
    if (signal?.aborted === true) throw error;
    if (error instanceof SyntaxError) throw unreadable();
    const hint = "Is it still running? The page retries automatically.";
    throw new ApiError({ code: NO_ANSWER, message: "The server does not answer.", hint }, 0);
  }
}

function pending(body: unknown): Error {
  const span = (body as Partial<Pending> | null)?.span;
  return span === undefined ? unreadable() : new PendingError(span);
}

function unreadable(): ApiError {
  const hint = "A proxy between the page and the server may have answered instead. Reload the page.";
  return new ApiError({ code: "unreadable", message: "The answer cannot be read.", hint }, 0);
}

function failureOf(body: unknown, response: Response): Failure {
  const error = (body as { error?: Partial<Failure> } | null)?.error;
  return {
    code: error?.code ?? `http_${response.status}`,
    message: error?.message ?? `The server answered ${response.status} ${response.statusText}.`,
    hint: error?.hint ?? "",
  };
}

function retryAfterOf(response: Response): number | null {
  const text = response.status === 503 ? response.headers.get("Retry-After") : null;
  return text !== null && /^\d+$/.test(text) ? Number(text) : null;
}
