/**
 * Timelines of several workers as one: their tracks below each other, their times on one clock.
 *
 * Each worker's times are moved by `shiftNs`, so that the earliest begins at 0. One worker alone is a stack
 * of one: its tracks are those of the server, unmoved.
 *
 *     rank 0  |--allreduce--|         shift 0
 *     rank 1      |allreduce|         shift 120 µs: its recording began later
 */
import type { Query } from "../api/client";
import type { TimelineFlowPayload, TimelineSlicePayload, TimelineTrackKind, TimelineTrackPayload, TimelineTracksAnswer } from "../generated/schema";
import { formatNumber, formatValue } from "../lib/format";
import type { TrackGroup } from "./layout";
import type { TimeRange } from "./viewport";

/** How a worker is aligned to the common clock; `recorded` is its own clock, which may be off. */
export type Clock = "reference" | "aligned" | "recorded";

/** A worker to be stacked; the first of a stack is the one the page is about. */
export interface StackedWorker {
  readonly worker: string;
  readonly query: Query;
  readonly tracks: TimelineTracksAnswer;
  /** Added to its times gives those of the first worker; null when they have no collective in common. */
  readonly offsetNs: number | null;
  /** How many collectives the offset is measured on. */
  readonly collectives: number;
  /** Standard error of the offset (est.); null or absent where it is unknown. */
  readonly uncertaintyNs?: number | null;
  /** Of another recording: which of its moments is drawn where. */
  readonly zero?: string;
}

/** A worker of which only the band is drawn: when it computed and communicated. Its summary is enough. */
export interface StackedBand {
  readonly worker: string;
  readonly title: string;
  readonly query: Query;
  readonly originUs: number;
  readonly endNs: number;
  readonly offsetNs: number | null;
  /** Standard error of the offset (est.); null where it is unknown. */
  readonly uncertaintyNs: number | null;
}

export interface StackPart {
  readonly worker: string;
  readonly query: Query;
  readonly tracks: TimelineTracksAnswer;
  readonly clock: Clock;
  /** Added to the worker's times gives those on screen. */
  readonly shiftNs: number;
  /** Prefix of the keys of its tracks and groups on screen. */
  readonly prefix: string;
  /** Number of its first track on screen. */
  readonly firstTrack: number;
}

export interface Stack {
  /** The first is the worker the page is about. */
  readonly parts: readonly [StackPart, ...StackPart[]];
  /** Workers with a band, below all tracks. */
  readonly bands: readonly StackPart[];
  readonly groups: readonly TrackGroup[];
  readonly tracks: readonly TimelineTrackPayload[];
  readonly endNs: number;
  /** Moment 0 in the trace time of the first worker. */
  readonly originUs: number;
}

/** The tracks that ranks are compared by; operators only where there is no device. */
const DEVICE_KINDS: ReadonlySet<TimelineTrackKind> = new Set(["steps", "merged", "device_stream"]);
const HOST_KINDS: ReadonlySet<TimelineTrackKind> = new Set(["steps", "operators"]);

export function stackOf(first: StackedWorker, others: readonly StackedWorker[] = [], bands: readonly StackedBand[] = []): Stack {
  if (others.length === 0 && bands.length === 0) return singleWorker(first);
  const workers = [first, ...others] as const;
  const offsets = workers.map((each) => each.offsetNs ?? (each.tracks.origin_us - first.tracks.origin_us) * 1000);
  const bandOffset = (each: StackedBand) => each.offsetNs ?? (each.originUs - first.tracks.origin_us) * 1000;
  const earliestNs = bands.reduce((earliest, each) => Math.min(earliest, bandOffset(each)), Math.min(0, ...offsets));
  let firstTrack = 0;
  const partFor = (each: StackedWorker): StackPart => {
    const clock = each === first ? "reference" : each.offsetNs === null ? "recorded" : "aligned";
    const shiftNs = Math.round((each === first ? 0 : (offsets[workers.indexOf(each)] ?? 0)) - earliestNs);
    const part = { worker: each.worker, query: each.query, tracks: each.tracks, clock, shiftNs, prefix: `${encodeURIComponent(each.worker)}/`, firstTrack } as const;
    firstTrack += each.tracks.tracks.length;
    return part;
  };
  const parts = [partFor(first), ...others.map(partFor)] as const;
  const bandParts = bands.map((each): StackPart => {
    const part = bandPart(each, first.tracks, Math.round(bandOffset(each) - earliestNs), firstTrack);
    firstTrack += part.tracks.tracks.length;
    return part;
  });
  return {
    parts: [parts[0], ...parts.slice(1)],
    bands: bandParts,
    groups: [...parts.flatMap((part, index) => groupsOf(part, workers[index])), ...(bands.length === 0 ? [] : [bandGroup(bands)])],
    tracks: [...parts.flatMap(tracksOf), ...bandParts.flatMap(({ tracks: { tracks }, prefix }) => tracks.map((track) => ({ ...track, key: prefix + track.key })))],
    endNs: [...parts, ...bandParts].reduce((end, { shiftNs, tracks }) => Math.max(end, shiftNs + tracks.end_ns), 0),
    originUs: first.tracks.origin_us - parts[0].shiftNs / 1000,
  };
}

/** Before the keys of bands; keys of workers with tracks have it encoded. */
const BAND_PREFIX = "=";
const BANDS = `${BAND_PREFIX}bands`;

function bandPart({ worker, title, query, endNs, originUs, offsetNs }: StackedBand, first: TimelineTracksAnswer, shiftNs: number, firstTrack: number): StackPart {
  const track: TimelineTrackPayload = {
    key: "band",
    title,
    subtitle: null,
    kind: "merged",
    group: BANDS,
    help: offsetNs === null ? "Its clock is not aligned: no collective connects it with the first rank." : "When the rank computed and communicated.",
    lanes: 1,
    lane_titles: null,
    overlap_from: null,
    slices: 0,
    collapsed: false,
    communication: false,
    device: null,
    unit: null,
    unit_label: null,
    maximum: null,
  };
  const tracks = { ...first, end_ns: endNs, origin_us: originUs, groups: [], tracks: [track], overlapping: 0, tracks_left_out: 0 };
  return { worker, query: { ...query, band: "1" }, tracks, clock: offsetNs === null ? "recorded" : "aligned", shiftNs, prefix: `${BAND_PREFIX}${encodeURIComponent(worker)}/`, firstTrack };
}

/** The worker of a band; null for other tracks. */
export function workerOfBand(trackKey: string): string | null {
  return trackKey.startsWith(BAND_PREFIX) ? decodeURIComponent(trackKey.slice(BAND_PREFIX.length, trackKey.indexOf("/"))) : null;
}

function bandGroup(bands: readonly StackedBand[]): TrackGroup {
  const title = `${formatNumber(bands.length)} ${bands.length === 1 ? "rank" : "ranks"}`;
  return { key: BANDS, title, kind: "process", device: null, note: bandNote(bands) };
}

function bandNote(bands: readonly StackedBand[]): NonNullable<TrackGroup["note"]> {
  const apart = bands.filter(({ offsetNs }) => offsetNs === null).length;
  if (apart > 0) return { text: `${formatNumber(apart)} not aligned`, warns: true, help: "No collective connects the clocks of these ranks with that of the first one: they are drawn by their recorded clocks, which may be off." };
  const errors = bands.flatMap(({ uncertaintyNs }) => (uncertaintyNs === null ? [] : [uncertaintyNs]));
  const within = errors.length === 0 ? "" : ` Uncertainty (est.): at most ${formatValue(errors.reduce((most, each) => Math.max(most, each), 0) / 1000, "us")}.`;
  return { text: "aligned", warns: false, help: `Moved so that the ends of their collectives meet.${within} Each shows when it computed and communicated; open one to see its tracks.` };
}

function singleWorker({ worker, query, tracks }: StackedWorker): Stack {
  const part: StackPart = { worker, query, tracks, clock: "reference", shiftNs: 0, prefix: "", firstTrack: 0 };
  return { parts: [part], bands: [], groups: tracks.groups, tracks: tracks.tracks, endNs: tracks.end_ns, originUs: tracks.origin_us };
}

function groupsOf(part: StackPart, stacked: StackedWorker | undefined): TrackGroup[] {
  const key = part.prefix + SHOWN;
  const common = { kind: "process", device: null } as const;
  return [
    { ...common, key, title: part.worker, note: stacked?.zero === undefined ? clockNote(part, stacked?.collectives ?? 0, stacked?.uncertaintyNs ?? null) : { text: "own zero", warns: false, help: stacked.zero } },
    { ...common, key: part.prefix + FOLDED, title: "Other tracks", parent: key, collapsed: true },
  ];
}

const SHOWN = "shown";
const FOLDED = "folded";

function clockNote({ clock, shiftNs }: StackPart, collectives: number, uncertaintyNs: number | null): TrackGroup["note"] {
  if (clock === "recorded") return { text: "clock not aligned", warns: true, help: "No collective connects this worker with the first one, not even through others: it is drawn by its own recorded clock, which may be off." };
  if (clock === "reference") return { text: "reference", warns: false, help: "The other workers are drawn on the clock of this one." };
  const moved = formatValue(shiftNs / 1000, "us");
  const within = uncertaintyNs === null ? "" : ` Uncertainty (est.): ${formatValue(uncertaintyNs / 1000, "us")}.`;
  return { text: "aligned", warns: false, help: `Moved so that the ends of ${formatNumber(collectives)} common collectives meet (median); its recording begins at ${moved}.${within}` };
}

function tracksOf({ tracks: { tracks, groups }, prefix }: StackPart): TimelineTrackPayload[] {
  const hasDevice = tracks.some(({ kind }) => kind === "merged" || kind === "device_stream");
  const kinds = hasDevice ? DEVICE_KINDS : HOST_KINDS;
  const titles = new Map(groups.map(({ key, title }) => [key, title]));
  return tracks.map((track) => {
    const isShown = kinds.has(track.kind);
    const isAmbiguous = tracks.some((other) => other.group !== track.group && other.title === track.title);
    return {
      ...track,
      key: prefix + track.key,
      title: isAmbiguous ? `${titles.get(track.group) ?? track.group} · ${track.title}` : track.title,
      group: prefix + (isShown ? SHOWN : FOLDED),
      collapsed: track.collapsed || track.lanes > 1,
    };
  });
}

/** "GPU 0", or what else the vendor calls it: the title of the device's group without the model in brackets. */
export function deviceLabel({ groups }: TimelineTracksAnswer, device: number): string {
  const title = groups.find((group) => group.device === device)?.title;
  return title === undefined ? `GPU ${device}` : title.replace(/ \(.*$/, "");
}

/** The worker a track on screen belongs to. */
export function partOf(stack: Stack, trackKey: string): StackPart {
  const isOf = ({ prefix }: StackPart) => trackKey.startsWith(prefix);
  return (trackKey.startsWith(BAND_PREFIX) ? stack.bands.find(isOf) : stack.parts.find(isOf)) ?? stack.parts[0];
}

/** The part of another worker of the same run; undefined where it is not stacked. */
export function partOfWorker(stack: Stack, { query }: StackPart, worker: string): StackPart | undefined {
  return stack.parts.find((each) => each.query["worker"] === worker && each.query["run"] === query["run"]);
}

/** A slice from the server's answer with the track and time that it has on screen. */
export function onScreen(part: StackPart, slice: TimelineSlicePayload): TimelineSlicePayload {
  return { ...slice, track: part.prefix + slice.track, start_ns: slice.start_ns + part.shiftNs };
}

/** Arrows of a slice of one worker as they are on screen; those to workers that are not stacked are dropped. */
export function arrowsOnScreen(stack: Stack, part: StackPart, flows: readonly TimelineFlowPayload[]): TimelineFlowPayload[] {
  return flows.flatMap((flow) => {
    const source = onScreen(part, flow.source);
    if (flow.worker === null) return [{ ...flow, source, target: onScreen(part, flow.target) }];
    const targetPart = partOfWorker(stack, part, flow.worker);
    if (targetPart === undefined) return [];
    // Each worker is drawn by its own clock; the answer's times are aligned on this one collective.
    return [{ ...flow, source, target: onScreen(targetPart, { ...flow.target, start_ns: flow.target.start_ns - flow.moved_ns }) }];
  });
}

/** A range on screen, in the worker's own time. */
export function inPart({ shiftNs }: StackPart, { startNs, endNs }: TimeRange): TimeRange {
  return { startNs: startNs - shiftNs, endNs: endNs - shiftNs };
}

/** A range in the worker's own time, as it is on screen. */
export function fromPart({ shiftNs }: StackPart, { startNs, endNs }: TimeRange): TimeRange {
  return { startNs: startNs + shiftNs, endNs: endNs + shiftNs };
}
