/**
 * Converts between times in a field, which count from the beginning of the recording like the timeline and the
 * memory curve, and times in the address: trace time in µs, which counts from an arbitrary moment.
 */
import { formatNumber } from "../lib/format";
import { parseQuantity, roundNoise } from "../lib/quantity";
import { scaleFor, type Scale } from "../lib/units";

export interface TraceClock {
  /** Trace time of the beginning. */
  readonly originUs: number;
  /** Length of the recording; null when it is unknown. */
  readonly lengthUs: number | null;
  /** The scale of a number without a unit. */
  readonly scale: Scale;
}

export function clockOf(originUs: number, endNs: number): TraceClock {
  return { originUs, lengthUs: endNs / 1000, scale: scaleFor("us", endNs / 1000) };
}

/** The clock when the beginning is unknown: times are trace times. */
export const RAW_CLOCK: TraceClock = { originUs: 0, lengthUs: null, scale: scaleFor("us", 1) };

const DECIMALS = 3;

/** Trace time as text for a field; "" for none. */
export function shownTime(traceUs: string | undefined, { originUs, scale }: TraceClock): string {
  if (traceUs === undefined) return "";
  // Trace times have many digits before the point; what a double adds after them is noise.
  const us = Number((Number(traceUs) - originUs).toFixed(DECIMALS));
  return String(roundNoise(us / scale.divisor));
}

/** The reverse, in the format of the address: "" for none, null when the text is not a time. */
export function parseTime(text: string, { originUs, scale }: TraceClock): string | null {
  if (text.trim() === "") return "";
  const us = parseQuantity(text, "us", scale);
  return us === null ? null : (originUs + us).toFixed(DECIMALS);
}

/** "1 065.7", the end of the recording in the unit of the fields. */
export function endText({ lengthUs, scale }: TraceClock): string {
  return lengthUs === null ? "the end" : formatNumber(lengthUs / scale.divisor, DECIMALS);
}

/** Names of steps, consecutive numbers as a range: "0, 3 to 7, warmup". */
export function stepsText(names: readonly string[]): string {
  const runs: [string, string][] = [];
  for (const name of names) {
    const last = runs.at(-1);
    if (last !== undefined && /^\d+$/.test(name) && Number(name) === Number(last[1]) + 1) last[1] = name;
    else runs.push([name, name]);
  }
  return runs.map(([first, last]) => (first === last ? first : `${first} to ${last}`)).join(", ");
}
