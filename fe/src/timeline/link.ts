/**
 * What of the timeline stands in the address:
 *
 *     at=1000-2500      the range on screen, ns since the first event
 *     slice=17          the selected slice
 *     range=1200-1300   the chosen range
 *     folds=all|none    all tracks and groups open, or none
 *     open=… shut=…     tracks and groups unlike that, or unlike the server proposes
 *     pin=…             tracks that stay on top
 *     order=…           tracks and groups that changed places
 *     tracks=gpu        only tracks with that in their names
 *     find=gemm         what is searched for; find==aten::add exactly that name
 *     colors=name       colours by name
 *     levels=modules:3  groups drawn as tracks, to that level
 *     stack=rank1,rank2 workers drawn below this one; at and range count from the earliest of them
 *     on=rank1          the stacked worker that slice= and the summary of range= belong to
 */
import type { Params } from "../state/address";
import { MAX_FILTER, MAX_ORDER, MAX_PINNED, type Arrangement } from "./arrangement";
import type { ColorMode } from "./colors";
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

/** Addresses stay short: of more, those folded last are kept. */
const MAX_FOLDED = 500;

function lastKeys(keys: ReadonlySet<string>): string {
  return [...keys].slice(-MAX_FOLDED).join(",");
}

function keysOf(text: string | undefined, limit: number): readonly string[] {
  return [...new Set((text ?? "").split(",").filter((key) => key !== ""))].slice(0, limit);
}

export function parseMode(params: Params): ColorMode {
  return params["colors"] === "name" ? "name" : "category";
}

/** Parameters for other views that want a name shown here: that name, not all that contain it. */
export function findOnTimeline(name: string): Params {
  return { find: `=${name}` };
}

/** Room left and right of a place, as a share of its length: what stands around it explains it. */
const PLACE_MARGIN = 0.5;
/** Around what takes no time. */
const LEAST_MARGIN_NS = 1000;

/** Parameters for other views that want a stretch of time shown here: zoomed to, marked, its slice selected. */
export function placeOnTimeline(place: TimeRange, slice: number | null): Params {
  const room = Math.max((place.endNs - place.startNs) * PLACE_MARGIN, LEAST_MARGIN_NS);
  return {
    at: formatRange({ startNs: place.startNs - room, endNs: place.endNs + room }),
    range: formatRange(place),
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

/** What both a choice of steps and a range of time leave, in order; null where neither is chosen. */
export function selectedStretches(steps: readonly TimeRange[] | null, time: TimeRange | null): readonly TimeRange[] | null {
  if (steps === null || time === null) return steps ?? (time === null ? null : [time]);
  return steps
    .map(({ startNs, endNs }) => ({ startNs: Math.max(startNs, time.startNs), endNs: Math.min(endNs, time.endNs) }))
    .filter(({ startNs, endNs }) => endNs > startNs);
}

/** From the first to the last of some stretches; null for none. */
export function hullOf(stretches: readonly TimeRange[] | null): TimeRange | null {
  const [first, last] = [stretches?.[0], stretches?.at(-1)];
  return first === undefined || last === undefined ? null : { startNs: first.startNs, endNs: last.endNs };
}

/** A range as the frame's selection. */
export function asSelection({ startNs, endNs }: TimeRange, originUs: number): Params {
  return { start_us: (originUs + startNs / 1000).toFixed(3), end_us: (originUs + endNs / 1000).toFixed(3) };
}

const MAX_WORKERS = 100;

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
    return text; // no worker is named like that; nothing is stacked
  }
}
