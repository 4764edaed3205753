/** The runs, kept up to date, with what does not answer. */
import { useEffect, useState } from "react";

import { deepEqual } from "../lib/deepEqual";
import { ApiError, apiUrl, request } from "./client";
import type { Resource } from "./hooks";
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

const NOTHING: RunsState = { runs: { state: "loading", last: null }, silences: [] };

/** The runs, asked again while something moves, and now and then for new files; not while the page is hidden. */
export function useRuns(): RunsState {
  const [state, setState] = useState(NOTHING);
  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let known = NOTHING;
    let failures = 0;
    const ask = async () => {
      let wait = CALM_MS;
      if (!document.hidden) {
        const answer = await askRuns(abort.signal);
        if (answer === null) return;
        failures = "failure" in answer ? failures + 1 : 0;
        const retry = Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), LONGEST_RETRY_MS);
        const next = "failure" in answer ? afterFailure(known, answer.failure, retry) : afterAnswer(known, answer.runs);
        wait = "failure" in answer ? retry : untilNext(answer.runs);
        // The same answer again must not draw the pages again.
        if (!deepEqual(known, next)) setState((known = next));
      }
      timer = setTimeout(() => void ask(), wait);
    };
    void ask();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, []);
  return state;
}

function afterAnswer(known: RunsState, data: Runs): RunsState {
  const silences = silencesOf(data, Date.now(), known.silences);
  const runs: Resource<Runs> = { state: "ready", data: { ...data, silent_places: [] } };
  return { runs: deepEqual(known.runs, runs) ? known.runs : runs, silences };
}

/** What was known is still shown: a page that is being read must not go blank. */
function afterFailure(known: RunsState, failure: Failure, retryMs: number): RunsState {
  const silences = serverSilence(failure, Date.now(), retryMs, known.silences);
  return { runs: known.runs.state === "ready" ? known.runs : { state: "failed", failure }, silences };
}

function untilNext(runs: Runs): number {
  if (isBusy(runs)) return BUSY_MS;
  const tries = runs.silent_places.map((place) => 1000 * place.next_try_s + AFTER_TRY_MS);
  return Math.min(CALM_MS, ...tries);
}

function isBusy(runs: Runs): boolean {
  return (
    runs.discovering ||
    runs.runs.some((run) => run.workers.some((worker) => worker.spans.some((span) => span.state === "parsing")))
  );
}

async function askRuns(signal: AbortSignal): Promise<{ runs: Runs } | { failure: Failure } | null> {
  const own = new AbortController();
  const leave = () => own.abort();
  signal.addEventListener("abort", leave, { once: true });
  const timer = setTimeout(leave, ANSWER_MS);
  try {
    const answer = await request<Runs>(apiUrl("runs"), own.signal);
    return answer.state === "ready" ? { runs: answer.data } : null;
  } catch (error) {
    if (signal.aborted) return null;
    if (error instanceof ApiError) return { failure: error.failure };
    if (!own.signal.aborted) throw error;
    const message = `The server took longer than ${ANSWER_MS / 1000} s.`;
    return { failure: { code: "no_answer", message, hint: "The page asks again by itself." } };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", leave);
  }
}
