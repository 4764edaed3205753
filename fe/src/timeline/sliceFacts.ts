/** The times and arguments of a slice, as its panel lists them. */
import type { SlicePayload } from "../generated/schema";
import { exactValue, formatMoment, formatNumber, formatValue, NO_VALUE, withUnit } from "../lib/format";
import { scaleFor } from "../lib/units";

export interface TimeFact {
  readonly title: string;
  /** Null is shown as "–". */
  readonly us: number | null;
  /** The exact value, or why there is none. */
  readonly help: string;
}

/** Told among the times; copies and sets have none, a launch is early by what its kernel waits. */
const DELAY = "launch_delay_ns";

export function timesOf(detail: SlicePayload): TimeFact[] {
  const delay = detail.args[DELAY];
  const rows: readonly (readonly [string, number | null, string | null])[] = [
    ["Duration", detail.dur_us, null],
    ["Self", detail.self_us, null],
    ["Launch delay", typeof delay === "number" ? delay / 1000 : null, null],
    ["Device total", detail.device_total_us, detail.no_device_time],
    ["Device self", detail.device_self_us, detail.no_device_time],
  ];
  return rows.flatMap(([title, us, reason]): TimeFact[] => {
    const help = us === null ? reason : exactValue(us, "us");
    return help === null ? [] : [{ title, us, help }];
  });
}

/** The times as they are shown: all in one unit, that of the longest. */
export function timeTexts(times: readonly TimeFact[]): string[] {
  const scale = scaleFor("us", Math.max(0, ...times.map(({ us }) => us ?? 0)));
  return times.map(({ us }) => (us === null ? NO_VALUE : withUnit(us, scale, "us")));
}

export interface MomentFact {
  readonly title: string;
  readonly text: string;
  /** The same on the clock of the trace. */
  readonly help: string;
}

const NS_PER_US = 1000;

/**
 * Where a slice begins and ends: since the first slice, in whole ns, and on the clock of the trace.
 *
 * @param originUs Trace time of the first slice.
 */
export function momentsOf({ start_us: startUs, dur_us: durUs }: SlicePayload, originUs: number): MomentFact[] {
  const startNs = Math.round((startUs - originUs) * NS_PER_US);
  const endNs = startNs + Math.round(durUs * NS_PER_US);
  const traceUs = (us: number) => `${formatNumber(us, 3)} µs on the clock of the trace`;
  return [
    { title: "Start", text: formatMoment(startNs), help: traceUs(startUs) },
    { title: "End", text: formatMoment(endNs), help: traceUs(startUs + durUs) },
  ];
}

/** Thread, process, and on a device its stream, as the file names them. */
export function rowsOf({ track }: SlicePayload): readonly (readonly [string, string])[] {
  if (track === null) return [];
  const { pid, tid, process_name: process, process_label: label, thread_name: thread, is_device: isDevice, device, stream } = track;
  const named = (name: string | null, id: string) => (name === null || name === "" || name === id ? id : `${name} (${id})`);
  const rows: [string, string][] = [];
  if (isDevice && device !== null) rows.push(["Device", label === null || label === "" ? `GPU ${device}` : label]);
  if (isDevice && stream !== null) rows.push(["Stream", String(stream)]);
  const row = named(thread, tid);
  if (row !== "" && !(isDevice && tid === String(stream))) rows.push(["Thread", row]);
  const owner = named(process, pid);
  if (owner !== "") rows.push(["Process", owner]);
  return rows;
}

export interface ArgumentFact {
  readonly key: string;
  readonly title: string;
  readonly text: string;
}

/** What the trace recorded with the slice, without what the panel shows elsewhere. */
export function argumentsOf({ args, call_stack: frames, track }: SlicePayload): ArgumentFact[] {
  const isShownElsewhere = (key: string, value: unknown) =>
    key === DELAY || (key === "call_stack" && frames.length > 0) || (track?.is_device === true && (key === "device" || key === "stream") && value === track[key]);
  return Object.entries(args)
    .filter(([key, value]) => !isShownElsewhere(key, value))
    .map(([key, value]) => ({ key, title: argumentTitle(key), text: argumentText(key, value) }));
}

/** Why device work belongs to no operator. */
const ORPHANS: Readonly<Record<string, string>> = {
  no_launch: "its launch is not in the file",
  ambiguous_launch: "several launches fit",
  no_operator: "its launch is outside operators",
};

/** "est_achieved_occupancy_pct" → "Est. achieved occupancy". */
export function argumentTitle(key: string): string {
  if (key === "orphan_reason") return "No operator";
  const name = key.replace(/_(pct|ns)$/, "").replace(/(.)_bytes$/, "$1").replace(/^est_/, "est. ");
  const text = name.replaceAll("_", " ").replace(/\bsm\b/, "SM");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Numbers by the unit in their key. */
export function argumentText(key: string, value: unknown): string {
  if (Array.isArray(value)) return value.join(",");
  if (key === "orphan_reason") return ORPHANS[String(value)] ?? String(value);
  if (typeof value !== "number") return typeof value === "string" ? value : JSON.stringify(value);
  if (key.endsWith("bytes")) return formatValue(value, "bytes");
  if (key.endsWith("_ns")) return formatValue(value / 1000, "us");
  if (key.endsWith("_pct")) return formatValue(value, "pct");
  return formatNumber(value, decimalsOf(value));
}

/** Two, and for a small number as many as show a digit of it: a launch of one warp is not "0.00 per SM". */
function decimalsOf(value: number): number {
  if (Number.isInteger(value)) return 0;
  return Math.max(2, -Math.floor(Math.log10(Math.abs(value))));
}
