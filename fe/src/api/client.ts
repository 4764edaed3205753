/** Asks the server. Every address is under one base, set once at the start (see `setApiBase`). */
import type { Failure, Pending, Span } from "./types";
import { fetchWhenFree } from "./whenFree";

/** Why an answer is missing, in words for people. */
export class ApiError extends Error {
  constructor(
    readonly failure: Failure,
    readonly status: number,
  ) {
    super(failure.message);
    this.name = "ApiError";
  }
}

export type Query = Readonly<Record<string, string | number | null | undefined>>;

/** Ready, or the trace is still being read and this is how far. */
export type Answer<T> =
  | { readonly state: "ready"; readonly data: T }
  | { readonly state: "pending"; readonly span: Span };

let base = new URL("api/", "http://localhost/");

/** Where the server's routes are: beside TensorBoard's plugin module, or where the standalone page says. */
export function setApiBase(url: URL): void {
  base = url;
}

/** The address of a route; parameters that are null or empty are left out. */
export function apiUrl(route: string, query: Query = {}): string {
  const url = new URL(route, base);
  for (const [key, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") url.searchParams.set(key, String(value));
  }
  return url.href;
}

/**
 * @throws ApiError when the server answers with an error or does not answer.
 */
export async function request<T>(url: string, signal?: AbortSignal): Promise<Answer<T>> {
  const response = await send(url, signal);
  const body: unknown = await readJson(response);
  if (response.status === 202) return { state: "pending", span: (body as Pending).span };
  if (!response.ok) throw new ApiError(failureOf(body, response), response.status);
  return { state: "ready", data: body as T };
}

async function send(url: string, signal?: AbortSignal): Promise<Response> {
  try {
    return await fetchWhenFree(url, signal);
  } catch (error) {
    if (signal?.aborted === true) throw error;
    const failure = {
      code: "no_answer",
      message: "The server does not answer.",
      hint: "Is it still running? The page asks again by itself.",
    };
    throw new ApiError(failure, 0);
  }
}

async function readJson(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch {
    return null;
  }
}

function failureOf(body: unknown, response: Response): Failure {
  const error = (body as { error?: Partial<Failure> } | null)?.error;
  return {
    code: error?.code ?? `http_${response.status}`,
    message: error?.message ?? `The server answered ${response.status} ${response.statusText}.`,
    hint: error?.hint ?? "",
  };
}
