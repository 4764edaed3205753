/** Cases: busy once, busy for too long, other errors, a page that is left while it waits. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { request } from "./client";
import { fetchWhenFree } from "./whenFree";

const BUSY = () => new Response('{"error": {"code": "busy", "message": "m", "hint": "h"}}', { status: 503, headers: { "Retry-After": "3" } });
const DONE = () => new Response("{}");

function serve(...answers: (() => Response)[]): ReturnType<typeof vi.fn> {
  const fetched = vi.fn(() => Promise.resolve((answers.shift() ?? BUSY)()));
  vi.stubGlobal("fetch", fetched);
  return fetched;
}

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe("a busy server", () => {
  it("is asked again after the time it says", async () => {
    const fetched = serve(BUSY, DONE);
    const answer = request("http://localhost/api/runs");
    await vi.advanceTimersByTimeAsync(2900);
    expect(fetched).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(200);
    expect(await answer).toEqual({ state: "ready", data: {} });
  });

  it("is told of after some tries", async () => {
    const fetched = serve();
    const answer = request("http://localhost/api/runs").catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await answer).toMatchObject({ status: 503, failure: { code: "busy" } });
    expect(fetched).toHaveBeenCalledTimes(5);
  });

  it("is not asked again when nobody waits any more", async () => {
    const fetched = serve(BUSY, DONE);
    const abort = new AbortController();
    const answer = fetchWhenFree("http://localhost/", abort.signal).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(1000);
    abort.abort();
    expect(await answer).toBe(abort.signal.reason);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(fetched).toHaveBeenCalledTimes(1);
  });

  it("differs from one that has no answer", async () => {
    const fetched = serve(() => new Response("", { status: 503 }));
    expect((await fetchWhenFree("http://localhost/")).status).toBe(503);
    expect(fetched).toHaveBeenCalledTimes(1);
  });
});
