/** The list of runs, polled, with the outages of its sources. */
import { queryOptions, useQuery, useQueryClient, type QueryClient, type QueryFunctionContext } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo } from "react";

import { ApiError, apiUrl, fetchJson, NO_ANSWER, type Query } from "./client";
import { fileState, type FileState } from "./fileState";
import { serverOutage, outagesOf, type Outage } from "./outages";
import { queryClient } from "./queryClient";
import type { Resource } from "./resource";
import type { Failure, Runs } from "./types";

const BUSY_MS = 600;
const IDLE_MS = 5000;
const FIRST_RETRY_MS = 3000;
const LONGEST_RETRY_MS = 30_000;
/** The server answers from memory; an answer that takes longer counts as none. */
const TIMEOUT_MS = 20_000;
/** After this time a retried location may be available again. */
const AFTER_RETRY_MS = 1000;

/** The last answer of the server, and what does not answer now. */
export interface RunsState {
  readonly runs: Resource<Runs>;
  readonly outages: readonly Outage[];
}

/** An answer of the server with its outages split off, as their times differ each time. */
interface RunsData {
  readonly runs: Runs;
  readonly outages: readonly Outage[];
}

/** The server does not answer; `outage` has the time since. */
class ServerOutage extends ApiError {
  constructor(
    failure: Failure,
    readonly outage: Outage,
  ) {
    super(failure, 0);
  }
}

const KEY = ["runs"];

/** Polled often while a file is parsed, and now and then for new files; not while the page is hidden. */
const RUNS = queryOptions<RunsData>({
  queryKey: KEY,
  queryFn: fetchRuns,
  refetchInterval: ({ state }) => (state.data === undefined ? IDLE_MS : refetchDelayMs(state.data)),
  refetchOnWindowFocus: "always",
  retry: true,
  retryDelay: retryMs,
  gcTime: Infinity,
});

export function useRuns(): RunsState {
  const { data, failureReason } = useQuery(RUNS);
  return useMemo(() => toRunsState(data ?? null, failureReason), [data, failureReason]);
}

/** Fetches the runs now instead of at the next poll. */
export async function refetchRuns(): Promise<void> {
  await queryClient.refetchQueries({ queryKey: KEY });
}

/** A view that fails says something about its run: with a fresh list the page may go on to the next readable run. */
export function useRefetchRuns(hasFailed: boolean): void {
  const client = useQueryClient();
  useEffect(() => {
    if (hasFailed) void client.refetchQueries({ queryKey: KEY });
  }, [client, hasFailed]);
}

const UNKNOWN: FileState = { key: "", retryS: null };

/** The state of the files that `query` is about. */
export function useFileState(query: Query): FileState {
  const named = JSON.stringify(query);
  const select = useCallback(({ runs }: RunsData) => fileState(runs, JSON.parse(named) as Query), [named]);
  // A listener only: the frame of the page polls.
  const { data } = useQuery({ ...RUNS, enabled: false, refetchInterval: false, select });
  return data ?? UNKNOWN;
}

/** The last answer is still shown when the server stops answering: the page must not go blank. */
function toRunsState(data: RunsData | null, reason: Error | null): RunsState {
  const sourceOutages = data?.outages ?? [];
  if (reason !== null && !(reason instanceof ServerOutage)) throw reason;
  const runs: Resource<Runs> =
    data !== null ? { state: "ready", data: data.runs } : reason !== null ? { state: "failed", failure: reason.failure } : { state: "loading", last: null };
  return { runs, outages: reason === null ? sourceOutages : [reason.outage, ...sourceOutages] };
}

function refetchDelayMs({ runs, outages }: RunsData): number {
  if (isBusy(runs)) return BUSY_MS;
  const tries = outages.map(({ nextTryMs }) => Math.max(0, nextTryMs - Date.now()) + AFTER_RETRY_MS);
  return Math.min(IDLE_MS, ...tries);
}

function isBusy(runs: Runs): boolean {
  return (
    runs.discovering ||
    runs.runs.some((run) => run.workers.some((worker) => worker.spans.some((span) => span.state === "parsing")))
  );
}

/** @param failures Number of failures before this one. */
function retryMs(failures: number): number {
  return Math.min(FIRST_RETRY_MS * 2 ** failures, LONGEST_RETRY_MS);
}

async function fetchRuns({ client, signal }: QueryFunctionContext): Promise<RunsData> {
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const answer = await fetchJson<Runs>(apiUrl("runs"), AbortSignal.any([signal, timeout]));
    const outages = outagesOf(answer, Date.now(), client.getQueryData<RunsData>(KEY)?.outages ?? []);
    return { runs: { ...answer, silent_places: [] }, outages };
  } catch (error) {
    if (signal.aborted) throw error;
    const hint = "The page retries automatically.";
    const failure = timeout.aborted ? { code: NO_ANSWER, message: `The server took longer than ${TIMEOUT_MS / 1000} s.`, hint } : (error as ApiError).failure;
    throw toServerOutage(client, failure);
  }
}

function toServerOutage(client: QueryClient, failure: Failure): ServerOutage {
  const state = client.getQueryState(KEY);
  const before = state?.fetchFailureReason;
  const old = before instanceof ServerOutage ? before.outage : null;
  return new ServerOutage(failure, serverOutage(failure, Date.now(), retryMs(state?.fetchFailureCount ?? 0), old));
}
