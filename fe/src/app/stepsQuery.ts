/** Asks the server which steps a text means: the grammar is there, for pages and command line alike. */
import { ApiError, apiUrl, fetchJson } from "../api/client";
import { fetchUncached } from "../api/queryClient";
import type { TimelineStepsAnswer } from "../generated/schema";
import type { Params } from "../state/address";
import { iterationsByQuery } from "../state/selection";
import { traceQuery, type Target } from "../state/target";

/** The steps as the address holds them (null for all), or why there are none. */
export type StepsReading = { readonly steps: string | null } | { readonly problem: string };

export async function readSteps(text: string, target: Target, params: Params): Promise<StepsReading> {
  const steps = text.trim();
  if (steps === "") return { steps: null };
  const url = apiUrl("timeline/steps", { ...traceQuery(target), ...iterationsByQuery(params), steps });
  try {
    return { steps: (await fetchUncached(url, fetchJson<TimelineStepsAnswer>)).steps };
  } catch (error) {
    return { problem: error instanceof ApiError ? error.failure.message.replace(/^steps: /, "") : String(error) };
  }
}
