/**
 * The selected part of a trace, as parameters of the address and, under the same names, of the server. Every request
 * has the persistent parameters that the server declares; they stay from page to page and are cleared with the
 * selection. The other parameters belong to single pages.
 */
import type { Query } from "../api/client";
import { PARAMETERS } from "../generated/schema";
import type { Params } from "./address";

interface Parameter {
  readonly type: string;
  readonly persistent: boolean;
}

const DECLARED: readonly (readonly [string, Parameter])[] = Object.entries(PARAMETERS);

function declaredKeys(filter: (parameter: Parameter) => boolean): readonly string[] {
  return DECLARED.filter(([, parameter]) => filter(parameter)).map(([key]) => key);
}

/** How the trace is split into iterations; the timeline draws these too. */
export const ITERATIONS_BY_KEY = "iterations_by";
/** The selected time. */
export const TIME_KEYS = ["steps", "start_us", "end_us"] as const;
export const SELECTION_KEYS = declaredKeys(({ persistent }) => persistent);
/** What restricts rows besides time, and where phases begin and end. */
const SCOPE_KEYS = SELECTION_KEYS.filter((key) => key !== ITERATIONS_BY_KEY && !TIME_KEYS.some((time) => time === key));
/** Parameters that the baseline of a comparison may have for itself: times are those of one trace. */
const BASELINE_KEYS = declaredKeys(({ persistent, type }) => persistent && type !== "time_us").map((key) => `baseline_${key}`);

type ClearedParams = Readonly<Record<string, null>>;

function cleared(keys: readonly string[]): ClearedParams {
  return Object.fromEntries(keys.map((key) => [key, null]));
}

/** Clears the selected time. */
export const NO_TIME: ClearedParams = cleared(TIME_KEYS);
/** Clears the times of one recording, which mean other moments in another one. */
export const NO_MOMENTS: ClearedParams = cleared(declaredKeys(({ type }) => type === "time_us"));
/** Clears the selected part; the trace stays split as it is. */
export const NO_PART: ClearedParams = cleared([...TIME_KEYS, ...SCOPE_KEYS]);
/** Clears everything that fits one trace only, for another trace. */
export const NO_SELECTION: ClearedParams = cleared(Object.keys(PARAMETERS));
export const NO_BASELINE_SELECTION: ClearedParams = cleared(BASELINE_KEYS);

/** The selection as parameters of a request. */
export function selectionQuery(params: Params): Query {
  return Object.fromEntries(SELECTION_KEYS.map((key) => [key, params[key]]));
}

/** The parameters of a request about the whole time. */
export function iterationsByQuery(params: Params): Query {
  return { [ITERATIONS_BY_KEY]: params[ITERATIONS_BY_KEY] };
}

/** The selection of the baseline: parameters absent from the address are those of the candidate. */
export function baselineSelection(params: Params): Query {
  return Object.fromEntries(BASELINE_KEYS.map((key) => [key, params[key]]));
}

export function isSelected(params: Params): boolean {
  return SELECTION_KEYS.some((key) => key !== ITERATIONS_BY_KEY && key in params);
}
