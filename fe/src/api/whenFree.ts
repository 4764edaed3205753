/** Asks again when the server is busy: 503 with `Retry-After`, in seconds. */

/** A server that is busy for so long is told to the user; the page goes on asking. */
const MOST_TRIES = 5;
const MOST_WAIT_S = 30;

/** As `fetch`, but an answer that says when to come back is waited for. */
export async function fetchWhenFree(url: string, signal?: AbortSignal): Promise<Response> {
  for (let tries = 1; ; tries++) {
    const response = await fetch(url, signal === undefined ? {} : { signal });
    const waitS = retryAfterS(response);
    if (waitS === null || tries === MOST_TRIES) return response;
    await pause(1000 * Math.min(waitS, MOST_WAIT_S), signal);
  }
}

function retryAfterS(response: Response): number | null {
  const text = response.status === 503 ? response.headers.get("Retry-After") : null;
  return text !== null && /^\d+$/.test(text) ? Number(text) : null;
}

function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    if (signal?.aborted === true) abort();
    else signal?.addEventListener("abort", abort, { once: true });
  });
}
