// @vitest-environment jsdom
/** Cases: many newer answers, a rewritten file, a trace that is being read, a failed file, a server that does not answer. */
import { QueryClientProvider } from "@tanstack/react-query";
import { act, createElement, useEffect } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { useAnswer, useViewBeforeFindings } from "./hooks";
import { createQueryClient } from "./queryClient";
import type { Resource } from "./resource";
import { useRuns, useRefetchRuns } from "./runs";
import type { Runs, Span } from "./types";

Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });

const SPAN: Span = { name: "1", file: "w.json", format: null, size_bytes: 10, state: "ready", progress: 1, mb_per_s: null, eta_s: null, error: null, retry_s: null, version: "a", modified_s: null, recorded_s: null, path: "", format_label: null, read_part: null };
const TRACE = { run: "r", worker: "w", span: "1" };

let span: Span;
/** By the last part of the path. */
let served: (route: string, query: URLSearchParams) => Response;
let routes: string[];
let root: Root;
let client: ReturnType<typeof createQueryClient>;

function json(body: unknown, status = 200): Response {
  return new Response(JSON.stringify(body), { status });
}

beforeEach(() => {
  vi.useFakeTimers();
  span = SPAN;
  routes = [];
  served = (route) => json({ route });
  client = createQueryClient();
  root = createRoot(document.createElement("div"));
  const answer = (url: string) => {
    const route = new URL(url).pathname.replace("/api/", "");
    if (route !== "runs") {
      routes.push(route);
      return Promise.resolve(served(route, new URL(url).searchParams));
    }
    const runs: Runs = { schema_version: 1, discovering: false, runs: [{ name: "r", workers: [{ name: "w", spans: [span] }] }], notes: [], problem: null, silent_places: [], left_out: [], left_out_counts: {} };
    return Promise.resolve(json(runs));
  };
  vi.stubGlobal("fetch", vi.fn(answer));
});
afterEach(async () => {
  await act(async () => {
    root.unmount();
    await vi.advanceTimersByTimeAsync(1);
  });
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const ROUNDS = 5;

/** Shows a page that needs the answer of `route`, for a while; what it has at the end. */
async function show(route: string | null, ms = 50): Promise<Resource<unknown> | undefined> {
  return (await watch(route, ms)).at(-1);
}

/** As `show`; all it had, one after the other. */
async function watch(route: string | null, ms: number, rounds = ROUNDS, useRoute: typeof useAnswer = useAnswer): Promise<readonly Resource<unknown>[]> {
  const seen: Resource<unknown>[] = [];
  function Page() {
    const { runs } = useRuns();
    const resource = useRoute(runs.state === "ready" ? route : null, TRACE);
    useEffect(() => {
      seen.push(resource);
    }, [resource]);
    return null;
  }
  act(() => root.render(createElement(QueryClientProvider, { client }, createElement(Page, { key: route }))));
  // What React draws it draws between the rounds.
  for (let round = 0; round < rounds; round++) await act(() => vi.advanceTimersByTimeAsync(ms / rounds));
  return seen;
}

it("an answer stays cached, however many others arrived since", async () => {
  expect(await show("tracks")).toEqual({ state: "ready", data: { route: "tracks" } });
  for (let id = 0; id < 70; id++) await show(`slice/${id}`, 5);
  expect(await show("tracks")).toEqual({ state: "ready", data: { route: "tracks" } });
  expect(routes.filter((route) => route === "tracks")).toHaveLength(1);
});

it("the tables of a view are shown until its findings are computed", async () => {
  const [early, whole] = [{ tables: {}, findings_pending: true }, { tables: {}, notes: ["a finding"] }];
  served = (_, query) => json(query.get("findings") === "later" ? early : whole);
  const seen = await watch("overview", 50, ROUNDS, useViewBeforeFindings as typeof useAnswer);
  expect(seen.filter(({ state }) => state === "ready")).toEqual([early, whole].map((data) => ({ state: "ready", data })));
});

it("a view that comes with its findings is asked for once", async () => {
  served = () => json({ tables: {} });
  const seen = await watch("overview", 50, ROUNDS, useViewBeforeFindings as typeof useAnswer);
  expect(seen.at(-1)).toEqual({ state: "ready", data: { tables: {} } });
  expect(routes).toEqual(["view/overview"]);
});

it("an answer that left the cache is requested again", async () => {
  await show("tracks");
  await show("other", 6 * 60_000);
  expect(await show("tracks")).toEqual({ state: "ready", data: { route: "tracks" } });
  expect(routes.filter((route) => route === "tracks")).toHaveLength(2);
});

it("a file rewritten with equal size has another answer, without a reload", async () => {
  await show("overview");
  span = { ...SPAN, version: "b" };
  served = () => json("new");
  const page = show("overview", 6000);
  expect(await page).toEqual({ state: "ready", data: "new" });
  expect(routes).toEqual(["overview", "overview"]);
});

it("a file that is read again reports its progress", async () => {
  await show("overview");
  span = { ...SPAN, version: "b" };
  served = () => json({ span: { ...SPAN, progress: 0.5 } }, 202);
  expect(await show("overview", 6000)).toMatchObject({ state: "pending", span: { progress: 0.5 } });
  served = () => json("new");
  expect(await show("overview", 500)).toEqual({ state: "ready", data: "new" });
});

it("a file with a retry time is requested again then", async () => {
  span = { ...SPAN, state: "failed", retry_s: 4 };
  served = () => json({ error: { code: "unreachable", message: "no", hint: "" } }, 422);
  expect(await show("views", 3000)).toMatchObject({ state: "failed", failure: { code: "unreachable" } });
  expect(routes).toHaveLength(1);
  served = () => json("back");
  expect(await show("views", 2000)).toEqual({ state: "ready", data: "back" });
});

it("during the retry its failure stays", async () => {
  span = { ...SPAN, state: "failed", retry_s: 1 };
  served = () => json({ error: { code: "unreachable", message: "no", hint: "" } }, 422);
  const states = (await watch("views", 5000, 500)).map(({ state }) => state);
  expect(routes.length).toBeGreaterThan(3);
  expect([...new Set(states.slice(states.indexOf("failed")))]).toEqual(["failed"]);
});

it("a failed file without a retry time is not requested again", async () => {
  span = { ...SPAN, state: "failed", retry_s: 1 };
  served = () => json({ error: { code: "unreachable", message: "no", hint: "" } }, 422);
  setTimeout(() => (span = { ...SPAN, state: "failed" }), 2000);
  setTimeout(() => (routes = []), 8000);
  const seen = await watch("views", 60_000, 240);
  expect(seen.at(-1)).toMatchObject({ state: "failed" });
  expect(routes).toEqual([]);
});

it("an equal answer renders nothing again", async () => {
  span = { ...SPAN, state: "failed", retry_s: 1 };
  const seen = await watch("tracks", 5000, 500);
  expect(routes.length).toBeGreaterThan(3);
  expect(seen.filter(({ state }) => state === "ready")).toHaveLength(1);
});

it("a server that does not answer is reported, and retried until it does", async () => {
  served = () => {
    throw new TypeError("network");
  };
  expect(await show("views")).toMatchObject({ state: "failed", failure: { code: "no_answer" } });
  served = () => json("back");
  expect(await show("views", 3000)).toEqual({ state: "ready", data: "back" });
});

it("the last answer stays while the server does not answer", async () => {
  setTimeout(() => {
    span = { ...SPAN, version: "b" };
    served = () => {
      throw new TypeError("network");
    };
  }, 1000);
  setTimeout(() => (served = () => json("back")), 15_000);
  const seen = await watch("views", 30_000, 300);
  expect(seen.map(({ state }) => state)).not.toContain("failed");
  expect(seen).toContainEqual({ state: "loading", last: { route: "views" } });
  expect(seen.at(-1)).toEqual({ state: "ready", data: "back" });
});

it("an error is final, until the page is opened again", async () => {
  served = () => json({ error: { code: "bad", message: "no", hint: "" } }, 422);
  expect(await show("views", 60_000)).toMatchObject({ state: "failed" });
  expect(routes).toHaveLength(1);
  await show("other");
  await show("views");
  expect(routes).toHaveLength(3);
});

it("after an answer about a broken file the runs are requested at once", async () => {
  let lists = 0;
  const fetched = fetch;
  vi.stubGlobal("fetch", (url: string, init?: RequestInit) => {
    if (new URL(url).pathname.endsWith("/runs")) lists++;
    return fetched(url, init);
  });
  served = () => json({ error: { code: "empty_file", message: "no", hint: "" } }, 422);
  function Page() {
    const { runs } = useRuns();
    useRefetchRuns(useAnswer(runs.state === "ready" ? "views" : null, TRACE).state === "failed");
    return null;
  }
  act(() => root.render(createElement(QueryClientProvider, { client }, createElement(Page))));
  for (let round = 0; round < ROUNDS; round++) await act(() => vi.advanceTimersByTimeAsync(50));
  expect(lists).toBe(2);
});
