/**
 * Times as a person types them, counted from the beginning of the recording as the timeline and the memory
 * curve count, and as the address holds them: trace time, in µs, counted from whatever the recorder chose.
 */
import { formatNumber } from "../lib/format";
import { parseQuantity, roundNoise } from "../lib/quantity";
import { scaleFor, type Scale } from "../lib/units";

export interface TraceClock {
  /** Trace time of the beginning. */
  readonly originUs: number;
  /** Null where nothing tells it. */
  readonly lengthUs: number | null;
  /** What a number without a unit counts in. */
  readonly scale: Scale;
}

export function clockOf(originUs: number, endNs: number): TraceClock {
  return { originUs, lengthUs: endNs / 1000, scale: scaleFor("us", endNs / 1000) };
}

/** Where the beginning is not known, times are those of the trace. */
export const RAW_CLOCK: TraceClock = { originUs: 0, lengthUs: null, scale: scaleFor("us", 1) };

const DECIMALS = 3;

/** Trace time as text for a field; "" for none. */
export function shownTime(traceUs: string | undefined, { originUs, scale }: TraceClock): string {
  if (traceUs === undefined) return "";
  // Trace times have many digits before the point; what a double adds after them is noise.
  const us = Number((Number(traceUs) - originUs).toFixed(DECIMALS));
  return String(roundNoise(us / scale.divisor));
}

/** The reverse, as the address writes it: "" for none, null when it is no time. */
export function parseTime(text: string, { originUs, scale }: TraceClock): string | null {
  if (text.trim() === "") return "";
  const us = parseQuantity(text, "us", scale);
  return us === null ? null : (originUs + us).toFixed(DECIMALS);
}

/** "1 065.7", the end of the recording in the unit of the fields. */
export function endText({ lengthUs, scale }: TraceClock): string {
  return lengthUs === null ? "the end" : formatNumber(lengthUs / scale.divisor, DECIMALS);
}

/** Names of steps, runs of numbers as one: "0, 3 to 7, warmup". */
export function stepsText(names: readonly string[]): string {
  const runs: [string, string][] = [];
  for (const name of names) {
    const last = runs.at(-1);
    if (last !== undefined && /^\d+$/.test(name) && Number(name) === Number(last[1]) + 1) last[1] = name;
    else runs.push([name, name]);
  }
  return runs.map(([first, last]) => (first === last ? first : `${first} to ${last}`)).join(", ");
}
