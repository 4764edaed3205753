/** Cases: busy once, busy for too long, other errors, a trace that is being read, a page that is left while it waits. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { fetchBytes, fetchJson } from "./client";
import { fetchUncached, createQueryClient } from "./queryClient";

const URL = "http://localhost/api/runs";
const BUSY = () => new Response('{"error": {"code": "busy", "message": "m", "hint": "h"}}', { status: 503, headers: { "Retry-After": "3" } });
const PENDING = () => new Response('{"span": {"file": "w.json", "progress": 0.5}}', { status: 202 });
const DONE = () => new Response("{}");

function serve(...answers: (() => Response)[]): ReturnType<typeof vi.fn> {
  const fetched = vi.fn(() => Promise.resolve((answers.shift() ?? BUSY)()));
  vi.stubGlobal("fetch", fetched);
  return fetched;
}

let client = createQueryClient();
beforeEach(() => {
  client = createQueryClient();
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe("a busy server", () => {
  it("is retried after the time it names", async () => {
    const fetched = serve(BUSY, DONE);
    const answer = fetchUncached(URL, fetchJson, { client });
    await vi.advanceTimersByTimeAsync(2900);
    expect(fetched).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(200);
    expect(await answer).toEqual({});
  });

  it("with a Retry-After of 0 is retried after a pause", async () => {
    const atOnce = () => new Response('{"error": {}}', { status: 503, headers: { "Retry-After": "0" } });
    const fetched = serve(atOnce, DONE);
    const answer = fetchUncached(URL, fetchJson, { client });
    await vi.advanceTimersByTimeAsync(900);
    expect(fetched).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(200);
    expect(await answer).toEqual({});
  });

  it("is reported after some tries", async () => {
    const fetched = serve();
    const answer = fetchUncached(URL, fetchJson, { client }).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await answer).toMatchObject({ status: 503, failure: { code: "busy" } });
    expect(fetched).toHaveBeenCalledTimes(5);
  });

  it("is not retried once the request is aborted", async () => {
    const fetched = serve(BUSY, DONE);
    const abort = new AbortController();
    const answer = fetchUncached(URL, fetchJson, { client, signal: abort.signal }).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(1000);
    abort.abort();
    expect(await answer).toBe(abort.signal.reason);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(fetched).toHaveBeenCalledTimes(1);
  });

  it("differs from one that has no answer", async () => {
    const fetched = serve(() => new Response("", { status: 503 }));
    await expect(fetchUncached(URL, fetchJson, { client })).rejects.toMatchObject({ status: 503, failure: { code: "http_503" } });
    expect(fetched).toHaveBeenCalledTimes(1);
  });
});

it("waits for a trace that is being read, however often it polled", async () => {
  const fetched = serve(...Array<() => Response>(50).fill(PENDING), DONE);
  const answer = fetchUncached(URL, fetchBytes, { client });
  await vi.advanceTimersByTimeAsync(51 * 400);
  expect(new TextDecoder().decode(await answer)).toBe("{}");
  expect(fetched).toHaveBeenCalledTimes(51);
});

it("caches nothing that no page shows", async () => {
  const fetched = serve(DONE, DONE);
  await fetchUncached(URL, fetchJson, { client });
  await vi.advanceTimersByTimeAsync(1);
  expect(client.getQueryCache().getAll()).toEqual([]);
  await fetchUncached(URL, fetchJson, { client });
  expect(fetched).toHaveBeenCalledTimes(2);
});

it("an abort does not cancel the request for others", async () => {
  serve(BUSY, BUSY, DONE, DONE);
  const abort = new AbortController();
  const left = fetchUncached(URL, fetchJson, { client, signal: abort.signal }).catch((error: unknown) => error);
  const answer = fetchUncached(URL, fetchJson, { client });
  await vi.advanceTimersByTimeAsync(1000);
  abort.abort();
  expect(await left).toBe(abort.signal.reason);
  await vi.advanceTimersByTimeAsync(3000);
  expect(await answer).toEqual({});
});

it.each([
  ["a page of a proxy", () => new Response("<!doctype html><p>Please log in</p>"), "unreadable"],
  ["one that says 'not yet'", () => new Response("<p>Accepted</p>", { status: 202 }), "unreadable"],
  ["one without a token", () => new Response("<p>no</p>", { status: 401 }), "http_401"],
])("an answer that is not the server's is reported: %s", async (_, answer, code) => {
  const fetched = serve(answer);
  await expect(fetchUncached(URL, fetchJson, { client })).rejects.toMatchObject({ failure: { code } });
  expect(fetched).toHaveBeenCalledTimes(1);
});

it("a truncated answer is a failure", async () => {
  const broken = new ReadableStream({ pull: (controller) => controller.error(new TypeError("network")) });
  serve(() => new Response(broken));
  await expect(fetchUncached(URL, fetchJson, { client })).rejects.toMatchObject({ failure: { code: "no_answer" } });
});

it("does not retry a broken transfer", async () => {
  vi.stubGlobal("fetch", vi.fn(() => Promise.reject(new TypeError("network"))));
  await expect(fetchUncached(URL, fetchJson, { client })).rejects.toMatchObject({ failure: { code: "no_answer" } });
});
