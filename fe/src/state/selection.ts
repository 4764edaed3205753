/**
 * Which part of a trace is looked at, as parameters of the address and, under the same names, of the server.
 * What is listed here is sent with every question, kept from page to page, and taken away with the selection.
 */
import type { Query } from "../api/client";
import type { Params } from "./address";

/** What cuts the trace into iterations instead of its steps; the timeline draws them too. */
export const CUT_KEY = "iterations_by";
/** Which part of time. */
export const TIME_KEYS = ["steps", "start_us", "end_us"] as const;
/** What else is kept of it, and where its phases begin and end. */
const SCOPE_KEYS = ["phase", "domain", "forward_start", "backward_end"] as const;
export const SELECTION_KEYS: readonly string[] = [CUT_KEY, ...TIME_KEYS, ...SCOPE_KEYS];
/** What a trace that is compared with may have of its own. */
const BASELINE_KEYS: readonly string[] = ["steps", CUT_KEY, ...SCOPE_KEYS].map((key) => `baseline_${key}`);

type Nothing = Readonly<Record<string, null>>;

function without(keys: readonly string[]): Nothing {
  return Object.fromEntries(keys.map((key) => [key, null]));
}

/** All of time. */
export const NO_TIME: Nothing = without(TIME_KEYS);
/** The whole trace, cut as it is. */
export const WHOLE: Nothing = without([...TIME_KEYS, ...SCOPE_KEYS]);
/** What pages ask of one trace: a moment of it, peaks of its devices, a change of its critical path. */
const ASKED_KEYS = ["at_us", "peak", "what_if"] as const;
/** The whole of another trace, cut by its steps, of which nothing is asked yet. */
export const NO_SELECTION: Nothing = without([...SELECTION_KEYS, ...ASKED_KEYS]);
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
