/** Asks the server which steps a text means: the grammar is there, for pages and command line alike. */
import { ApiError, apiUrl, fetchJson } from "../api/client";
import { fetchUncached } from "../api/queryClient";
import type { TimelineStepsAnswer } from "../generated/schema";
import type { Params } from "../state/address";
import { iterationsByQuery } from "../state/selection";
import { traceQuery, type Target } from "../state/target";

/** The steps as the address holds them (null for all), or why there are none. */
export type StepsReading = { readonly steps: string | null } | { readonly problem: string };

/** "100ms-200ms": a text of times, which are no steps. */
const TIME = /^[\s\d.,:–-]*\d\s*(ns|[uµμ]s|ms|s)\b/i;

/** Why a text cannot mean steps, as far as that is known without the server; null where it may. */
export function problemOf(text: string): string | null {
  return TIME.test(text) ? "This is a time range: write it into From and To below." : null;
}

export async function readSteps(text: string, target: Target, params: Params): Promise<StepsReading> {
  const steps = text.trim();
  if (steps === "") return { steps: null };
  const problem = problemOf(steps);
  if (problem !== null) return { problem };
  const url = apiUrl("timeline/steps", { ...traceQuery(target), ...iterationsByQuery(params), steps });
  try {
    return { steps: (await fetchUncached(url, fetchJson<TimelineStepsAnswer>)).steps };
  } catch (error) {
    return { problem: error instanceof ApiError ? error.failure.message.replace(/^steps: /, "") : String(error) };
  }
}
