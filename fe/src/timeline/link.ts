/**
 * The state of the timeline in the address:
 *
 *     at=1000-2500      the range on screen, ns since the first event
 *     slice=17          the selected slice
 *     range=1200-1300   the chosen range
 *     folds=all|none    all tracks and groups open, or all closed
 *     open=… shut=…     exceptions to that, or to the server's defaults
 *     pin=…             tracks pinned to the top
 *     order=…           tracks and groups that were moved
 *     tracks=gpu        only tracks whose names contain that
 *     find=gemm         the text searched for; find==aten::add exactly that name
 *     colors=name       colours by name, or by duration
 *     notes=… note=…    notes (`notes.ts`)
 *     levels=modules:3  groups drawn as tracks, to that level
 *     stack=rank1,rank2 workers drawn below this one; at and range count from the earliest of them
 *     ranks=0-63        ranks drawn as bands below all tracks (`rankChoice.ts`)
 *     below=… zeros=…   another recording below this one (`secondRecording.ts`)
 *     on=rank1          the stacked worker that slice= and the summary of range= belong to
 */
import type { Params } from "../state/address";
import { MAX_FILTER, MAX_ORDER, MAX_PINNED, type Arrangement } from "./arrangement";
import { COLOR_MODES, type ColorMode } from "./colors";
import type { Folding } from "./layout";
import type { Viewport, TimeRange } from "./viewport";

const RANGE = /^(-?\d+)-(-?\d+)$/;

export function parseRange(text: string | undefined): TimeRange | null {
  const match = RANGE.exec(text ?? "");
  const [startNs, endNs] = [Number(match?.[1]), Number(match?.[2])];
  return match !== null && endNs > startNs ? { startNs, endNs } : null;
}

export function formatRange({ startNs, endNs }: Viewport): string {
  return `${Math.round(startNs)}-${Math.max(Math.round(endNs), Math.round(startNs) + 1)}`;
}

export function parseSlice(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

export function parseFolding(params: Params): Folding {
  const base = params["folds"];
  return { ...(base === "all" || base === "none" ? { base } : {}), opened: new Set(keysOf(params["open"], MAX_FOLDED)), closed: new Set(keysOf(params["shut"], MAX_FOLDED)) };
}

export function foldingPatch({ base, opened, closed }: Folding): Params {
  return { folds: base ?? "", open: lastKeys(opened), shut: lastKeys(closed) };
}

export function parseArrangement(params: Params): Arrangement {
  return { pinned: keysOf(params["pin"], MAX_PINNED), order: keysOf(params["order"], MAX_ORDER), filter: (params["tracks"] ?? "").slice(0, MAX_FILTER) };
}

export function arrangementPatch({ pinned, order, filter }: Arrangement): Params {
  return { pin: pinned.join(","), order: order.join(","), tracks: filter.slice(0, MAX_FILTER) };
}

/** Addresses stay short: of more, the last folded ones remain. */
const MAX_FOLDED = 500;

function lastKeys(keys: ReadonlySet<string>): string {
  return [...keys].slice(-MAX_FOLDED).join(",");
}

function keysOf(text: string | undefined, limit: number): readonly string[] {
  return [...new Set((text ?? "").split(",").filter((key) => key !== ""))].slice(0, limit);
}

export function parseMode(params: Params): ColorMode {
  return COLOR_MODES.find((mode) => mode === params["colors"]) ?? "category";
}

/** Parameters for links from other views that show a name here: exactly that name. */
export function findOnTimeline(name: string): Params {
  return { find: `=${name}` };
}

/** Room left and right of a range, as a share of its length, to show its context. */
const RANGE_MARGIN = 0.5;
/** Room around an event without duration. */
const MIN_MARGIN_NS = 1000;

/** Parameters for links from other views that show a range here: zoomed to, marked, its slice selected. */
export function rangeOnTimeline(range: TimeRange, slice: number | null): Params {
  const room = Math.max((range.endNs - range.startNs) * RANGE_MARGIN, MIN_MARGIN_NS);
  return {
    at: formatRange({ startNs: range.startNs - room, endNs: range.endNs + room }),
    range: formatRange(range),
    ...(slice === null ? {} : { slice: String(slice) }),
  };
}

/** The frame's time range on this page's clock; null when there is none. */
export function selectionRange(start: string | undefined, end: string | undefined, originUs: number, durationNs: number): TimeRange | null {
  if (start === undefined && end === undefined) return null;
  const edge = (text: string | undefined, otherwise: number) => (text === undefined ? otherwise : (Number(text) - originUs) * 1000);
  const range = { startNs: edge(start, 0), endNs: edge(end, durationNs) };
  return range.endNs > range.startNs ? range : null;
}

/** The intersection of the selected steps and the selected time range, in order; null where neither is chosen. */
export function selectedRanges(steps: readonly TimeRange[] | null, time: TimeRange | null): readonly TimeRange[] | null {
  if (steps === null || time === null) return steps ?? (time === null ? null : [time]);
  return steps
    .map(({ startNs, endNs }) => ({ startNs: Math.max(startNs, time.startNs), endNs: Math.min(endNs, time.endNs) }))
    .filter(({ startNs, endNs }) => endNs > startNs);
}

/** From the start of the first to the end of the last range; null for none. */
export function hullOf(ranges: readonly TimeRange[] | null): TimeRange | null {
  const [first, last] = [ranges?.[0], ranges?.at(-1)];
  return first === undefined || last === undefined ? null : { startNs: first.startNs, endNs: last.endNs };
}

/** A range as the frame's selection. */
export function asSelection({ startNs, endNs }: TimeRange, originUs: number): Params {
  return { start_us: (originUs + startNs / 1000).toFixed(3), end_us: (originUs + endNs / 1000).toFixed(3) };
}

/** The address is the only limit: tracks and tiles are fetched as they come on screen. */
const MAX_WORKERS = 2000;

/** Workers that are stacked below the one the page is about. */
export function parseStack(text: string | undefined): ReadonlySet<string> {
  return new Set(keysOf(text, MAX_WORKERS).map(decoded));
}

export function formatStack(workers: readonly string[]): string {
  return workers.map(encodeURIComponent).join(",");
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // no worker has such a name, so none is stacked
  }
}
