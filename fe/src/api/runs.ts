/** The runs, kept up to date, with what does not answer. */
import { queryOptions, useQuery, useQueryClient, type QueryClient, type QueryFunctionContext } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo } from "react";

import { answers } from "./answers";
import { ApiError, apiUrl, fetchJson, NO_ANSWER, type Query } from "./client";
import { fileState, type FileState } from "./fileState";
import type { Resource } from "./resource";
import { serverSilence, silencesOf, type Silence } from "./silences";
import type { Failure, Runs } from "./types";

const BUSY_MS = 600;
const CALM_MS = 5000;
const FIRST_RETRY_MS = 3000;
const LONGEST_RETRY_MS = 30_000;
/** The server answers this question from what it knows; one that takes so long is none. */
const ANSWER_MS = 20_000;
/** A place is asked by then, and the next answer may be that it is back. */
const AFTER_TRY_MS = 1000;

/** The last answer of the server, and who does not answer since. */
export interface RunsState {
  readonly runs: Resource<Runs>;
  readonly silences: readonly Silence[];
}

/** An answer of the server, its silent places apart: their times differ each time. */
interface Known {
  readonly runs: Runs;
  readonly silences: readonly Silence[];
}

/** The server does not answer; `silence` says since when. */
class SilentServer extends ApiError {
  constructor(
    failure: Failure,
    readonly silence: Silence,
  ) {
    super(failure, 0);
  }
}

const KEY = ["runs"];

/** Asked again while something moves, and now and then for new files; not while the page is hidden. */
const RUNS = queryOptions<Known>({
  queryKey: KEY,
  queryFn: askRuns,
  refetchInterval: ({ state }) => (state.data === undefined ? CALM_MS : untilNext(state.data)),
  refetchOnWindowFocus: "always",
  retry: true,
  retryDelay: retryMs,
  gcTime: Infinity,
});

export function useRuns(): RunsState {
  const { data, failureReason } = useQuery(RUNS);
  return useMemo(() => stateOf(data ?? null, failureReason), [data, failureReason]);
}

/** Now, and not at the next turn: something just became known. */
export async function askRunsAgain(): Promise<void> {
  await answers.refetchQueries({ queryKey: KEY });
}

/** What one answer says of a trace the runs tell too: the page may go on to the next that can be read. */
export function useRunsAfter(hasFailed: boolean): void {
  const client = useQueryClient();
  useEffect(() => {
    if (hasFailed) void client.refetchQueries({ queryKey: KEY });
  }, [client, hasFailed]);
}

const NOTHING_KNOWN: FileState = { key: "", retryS: null };

/** What `/runs` says of the files that `query` is about. */
export function useFileState(query: Query): FileState {
  const named = JSON.stringify(query);
  const select = useCallback(({ runs }: Known) => fileState(runs, JSON.parse(named) as Query), [named]);
  // Only listens: the frame of the page asks.
  const { data } = useQuery({ ...RUNS, enabled: false, refetchInterval: false, select });
  return data ?? NOTHING_KNOWN;
}

/** What was known is still shown: a page that is being read must not go blank. */
function stateOf(known: Known | null, reason: Error | null): RunsState {
  const places = known?.silences ?? [];
  if (reason !== null && !(reason instanceof SilentServer)) throw reason;
  const runs: Resource<Runs> =
    known !== null ? { state: "ready", data: known.runs } : reason !== null ? { state: "failed", failure: reason.failure } : { state: "loading", last: null };
  return { runs, silences: reason === null ? places : [reason.silence, ...places] };
}

function untilNext({ runs, silences }: Known): number {
  if (isBusy(runs)) return BUSY_MS;
  const tries = silences.map(({ nextTryMs }) => Math.max(0, nextTryMs - Date.now()) + AFTER_TRY_MS);
  return Math.min(CALM_MS, ...tries);
}

function isBusy(runs: Runs): boolean {
  return (
    runs.discovering ||
    runs.runs.some((run) => run.workers.some((worker) => worker.spans.some((span) => span.state === "parsing")))
  );
}

/** @param failures Before this one. */
function retryMs(failures: number): number {
  return Math.min(FIRST_RETRY_MS * 2 ** failures, LONGEST_RETRY_MS);
}

async function askRuns({ client, signal }: QueryFunctionContext): Promise<Known> {
  const late = AbortSignal.timeout(ANSWER_MS);
  try {
    const answer = await fetchJson<Runs>(apiUrl("runs"), AbortSignal.any([signal, late]));
    const silences = silencesOf(answer, Date.now(), client.getQueryData<Known>(KEY)?.silences ?? []);
    return { runs: { ...answer, silent_places: [] }, silences };
  } catch (error) {
    if (signal.aborted) throw error;
    const hint = "The page asks again by itself.";
    const failure = late.aborted ? { code: NO_ANSWER, message: `The server took longer than ${ANSWER_MS / 1000} s.`, hint } : (error as ApiError).failure;
    throw silent(client, failure);
  }
}

function silent(client: QueryClient, failure: Failure): SilentServer {
  const state = client.getQueryState(KEY);
  const before = state?.fetchFailureReason;
  const old = before instanceof SilentServer ? before.silence : null;
  return new SilentServer(failure, serverSilence(failure, Date.now(), retryMs(state?.fetchFailureCount ?? 0), old));
}
