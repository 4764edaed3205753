/**
 * Which part of a trace is looked at, as parameters of the address and, under the same names, of the server.
 * Of what the server declares, all that is persistent is sent with every question, kept from page to page, and taken
 * away with the selection; the rest is asked by single pages.
 */
import type { Query } from "../api/client";
import { PARAMETERS } from "../generated/schema";
import type { Params } from "./address";

interface Declared {
  readonly type: string;
  readonly persistent: boolean;
}

const DECLARED: readonly (readonly [string, Declared])[] = Object.entries(PARAMETERS);

function keysThat(are: (parameter: Declared) => boolean): readonly string[] {
  return DECLARED.filter(([, parameter]) => are(parameter)).map(([key]) => key);
}

/** What cuts the trace into iterations instead of its steps; the timeline draws them too. */
export const CUT_KEY = "iterations_by";
/** Which part of time. */
export const TIME_KEYS = ["steps", "start_us", "end_us"] as const;
export const SELECTION_KEYS = keysThat(({ persistent }) => persistent);
/** Which part of it beside time, and where its phases begin and end. */
const SCOPE_KEYS = SELECTION_KEYS.filter((key) => key !== CUT_KEY && !TIME_KEYS.some((time) => time === key));
/** What a trace that is compared with may have of its own: times are of one trace. */
const BASELINE_KEYS = keysThat(({ persistent, type }) => persistent && type !== "time_us").map((key) => `baseline_${key}`);

type Nothing = Readonly<Record<string, null>>;

function without(keys: readonly string[]): Nothing {
  return Object.fromEntries(keys.map((key) => [key, null]));
}

/** All of time. */
export const NO_TIME: Nothing = without(TIME_KEYS);
/** No time of one recording, which means another moment in the next. */
export const NO_MOMENTS: Nothing = without(keysThat(({ type }) => type === "time_us"));
/** The whole trace, cut as it is. */
export const WHOLE: Nothing = without([...TIME_KEYS, ...SCOPE_KEYS]);
/** The whole of another trace, cut by its steps, of which nothing is asked yet. */
export const NO_SELECTION: Nothing = without(Object.keys(PARAMETERS));
export const NO_BASELINE_SELECTION: Nothing = without(BASELINE_KEYS);

/** The parameters of a question that name the selected part. */
export function selectionQuery(params: Params): Query {
  return Object.fromEntries(SELECTION_KEYS.map((key) => [key, params[key]]));
}

/** Those of a question that is about all of time. */
export function cutQuery(params: Params): Query {
  return { [CUT_KEY]: params[CUT_KEY] };
}

/** Of the trace that is compared with: what the address does not say of it is that of the other side. */
export function baselineSelection(params: Params): Query {
  return Object.fromEntries(BASELINE_KEYS.map((key) => [key, params[key]]));
}

export function isSelected(params: Params): boolean {
  return SELECTION_KEYS.some((key) => key !== CUT_KEY && key in params);
}
