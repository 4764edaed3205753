/** Where tracks lie below each other. Pure: tracks and what is collapsed in, pixels out. */
import type { TimelineGroupPayload, TimelineTrackPayload } from "../generated/schema";
import { DEFAULT_ARRANGEMENT, inOrder, namesMatch, type Arrangement } from "./arrangement";

/** A process, a device, or a stacked worker, which may hold another group. */
export interface TrackGroup extends TimelineGroupPayload {
  /** Key of the group it is in: with that it folds away. */
  readonly parent?: string;
  /** Whether it is folded until the reader opens it. */
  readonly collapsed?: boolean;
  /** Beside the title. */
  readonly note?: { readonly text: string; readonly help: string; readonly warns: boolean };
}

export interface GroupRow {
  readonly kind: "group";
  readonly group: TrackGroup;
  readonly topPx: number;
  readonly heightPx: number;
  readonly open: boolean;
  readonly tracks: number;
}

export interface TrackRow {
  readonly kind: "track";
  /** Place in the list of the server, as the binary answers name it. */
  readonly number: number;
  readonly track: TimelineTrackPayload;
  readonly topPx: number;
  readonly heightPx: number;
  /** Lanes that are drawn. */
  readonly lanes: number;
  readonly lanePx: number;
  readonly open: boolean;
  /** Whether it is pinned above the groups; then `home` is the title of its own group. */
  readonly pinned: boolean;
  readonly home: string;
}

export type Row = GroupRow | TrackRow;

export interface Layout {
  readonly rows: readonly Row[];
  readonly tracks: readonly TrackRow[];
  readonly rowOf: ReadonlyMap<string, TrackRow>;
  readonly heightPx: number;
}

export const GROUP_PX = 24;
export const LANE_PX = 18;
export const COUNTER_PX = 38;
/** Above and below the lanes of a track. */
export const PADDING_PX = 3;
/** The prefix of a group among the collapsed keys: a group and a track may be named alike. */
const GROUP_PREFIX = "g.";

export function groupKey(group: Pick<TrackGroup, "key">): string {
  return GROUP_PREFIX + group.key;
}

/** What the user opened or closed, relative to the server's defaults, or to all open or all closed. */
export interface Folding {
  readonly base?: "all" | "none";
  readonly opened: ReadonlySet<string>;
  readonly closed: ReadonlySet<string>;
}

export const DEFAULT_FOLDING: Folding = { opened: new Set(), closed: new Set() };

export const ALL_OPEN: Folding = { ...DEFAULT_FOLDING, base: "all" };
export const ALL_CLOSED: Folding = { ...DEFAULT_FOLDING, base: "none" };

function isOpen(key: string, proposed: boolean, { base, opened, closed }: Folding): boolean {
  const isOpenByDefault = base === undefined ? proposed : base === "all";
  return opened.has(key) || (isOpenByDefault && !closed.has(key));
}

export function canFold(track: TimelineTrackPayload): boolean {
  return track.kind !== "counter" && track.lanes > 1;
}

export function isTrackOpen(track: TimelineTrackPayload, folding: Folding): boolean {
  return isOpen(track.key, !track.collapsed, folding);
}

/** A track of levels that are off retains its number and has no lanes. */
function isOff({ kind, lanes }: TimelineTrackPayload): boolean {
  return kind === "levels" && lanes === 0;
}

/** Pinned tracks first, then groups with those of their tracks that are neither pinned nor filtered away. */
export function layOut(groups: readonly TrackGroup[], tracks: readonly TimelineTrackPayload[], folding: Folding, arrangement: Arrangement = DEFAULT_ARRANGEMENT): Layout {
  const { pinned, order, filter } = arrangement;
  const rows: Row[] = [];
  let topPx = 0;
  const add = (row: Row) => {
    rows.push(row);
    topPx += row.heightPx;
  };
  const listedTracks = tracks.map((track, number) => ({ track, number })).filter(({ track }) => !isOff(track));
  const homeOf = new Map(groups.map((group) => [group.key, homeTitle(groups, group)]));
  const addTrack = ({ track, number }: { track: TimelineTrackPayload; number: number }, isPinned: boolean) =>
    add({ ...trackRow(track, number, topPx, folding), pinned: isPinned, home: homeOf.get(track.group) ?? "" });
  for (const key of pinned) {
    const pinnedTrack = listedTracks.find(({ track }) => track.key === key);
    if (pinnedTrack !== undefined) addTrack(pinnedTrack, true);
  }
  const isShown = ({ key, group, title, subtitle }: TimelineTrackPayload) =>
    !pinned.includes(key) && (filter === "" || namesMatch(filter, [homeOf.get(group) ?? null, title, subtitle]));
  const membersOf = new Map<string, typeof listedTracks>();
  for (const listed of listedTracks.filter(({ track }) => isShown(track))) {
    const members = membersOf.get(listed.track.group);
    if (members === undefined) membersOf.set(listed.track.group, [listed]);
    else members.push(listed);
  }
  // What a filter leaves is there to be seen, also where its group was folded.
  const within = filter === "" ? folding : { base: "all" as const, opened: folding.opened, closed: folding.closed };
  for (const group of groupsInOrder(groups, order)) {
    const members = membersOf.get(group.key) ?? [];
    if (members.length === 0 || (group.parent !== undefined && !isOpen(groupKey({ key: group.parent }), true, within))) continue;
    // The steps have no name above them that would open them again.
    const open = group.kind === "trace" || isOpen(groupKey(group), group.collapsed !== true, within);
    if (group.kind !== "trace") add({ kind: "group", group, topPx, heightPx: GROUP_PX, open, tracks: members.length });
    if (!open) continue;
    for (const member of inOrder(members, ({ track }) => track.key, order)) addTrack(member, false);
  }
  const shown = rows.filter((row) => row.kind === "track");
  return { rows, tracks: shown, rowOf: new Map(shown.map((row) => [row.track.key, row])), heightPx: topPx };
}

function homeTitle(groups: readonly TrackGroup[], group: TrackGroup): string {
  const parent = groups.find(({ key }) => key === group.parent);
  return parent === undefined ? group.title : `${parent.title} ${group.title}`;
}

/** What is inside a group moves with it. */
function groupsInOrder(groups: readonly TrackGroup[], order: readonly string[]): readonly TrackGroup[] {
  if (order.length === 0) return groups;
  const inside = (parent: string | undefined): readonly TrackGroup[] =>
    inOrder(
      groups.filter((group) => group.parent === parent),
      groupKey,
      order,
    ).flatMap((group) => [group, ...inside(group.key)]);
  return inside(undefined);
}

/** The most of the height that pinned tracks take; those beyond scroll with the others. */
const STICKY_SHARE = 0.6;

/** How much at the top does not scroll: pinned tracks, as far as they leave room for others. */
export function stickyOf({ tracks }: Layout, viewHeightPx: number): number {
  const bottoms = tracks.filter(({ pinned }) => pinned).map(({ topPx, heightPx }) => topPx + heightPx);
  return bottoms.findLast((bottom) => bottom <= STICKY_SHARE * viewHeightPx) ?? 0;
}

function trackRow(track: TimelineTrackPayload, number: number, topPx: number, folding: Folding): Omit<TrackRow, "pinned" | "home"> {
  const open = isTrackOpen(track, folding);
  const lanes = track.kind === "counter" ? 0 : open ? Math.max(1, track.lanes) : 1;
  const heightPx = track.kind === "counter" ? COUNTER_PX : lanes * LANE_PX + 2 * PADDING_PX;
  return { kind: "track", number, track, topPx, heightPx, lanes, lanePx: LANE_PX, open };
}

/** Another folding, in which `key` is the other way round. */
export function fold(folding: Folding, key: string, open: boolean): Folding {
  const opened = new Set(folding.opened);
  const closed = new Set(folding.closed);
  (open ? closed : opened).delete(key);
  (open ? opened : closed).add(key);
  return { ...folding, opened, closed };
}

/** The folding in which a track is on screen: its groups are opened, not its lanes. */
export function uncover(groups: readonly TrackGroup[], track: TimelineTrackPayload, folding: Folding): Folding {
  let shown = folding;
  let group = groups.find(({ key }) => key === track.group);
  while (group !== undefined) {
    if (!isOpen(groupKey(group), group.collapsed !== true, shown)) shown = fold(shown, groupKey(group), true);
    const { parent } = group;
    group = parent === undefined ? undefined : groups.find(({ key }) => key === parent);
  }
  return shown;
}

/** The tracks between two heights, and those that do not scroll. */
export function visibleTracks(layout: Layout, topPx: number, bottomPx: number, stickyPx = 0): TrackRow[] {
  return layout.tracks.filter((row) => row.topPx < stickyPx || (row.topPx < bottomPx && row.topPx + row.heightPx > topPx));
}

/** A track and its lanes to request. */
export interface LaneRange {
  readonly row: TrackRow;
  readonly firstLane: number;
  readonly lastLane: number;
}

/** Lanes are requested in blocks, so that scrolling a little needs no request. */
const LANE_BLOCK = 8;

/** The lanes between two heights, rounded up to blocks. */
export function visibleLanes(layout: Layout, topPx: number, bottomPx: number, stickyPx = 0): LaneRange[] {
  return visibleTracks(layout, topPx, bottomPx, stickyPx).map((row) => {
    if (row.topPx < stickyPx) return { row, firstLane: 0, lastLane: Math.max(0, row.lanes - 1) };
    const first = laneAt(row, topPx - row.topPx);
    const last = laneAt(row, bottomPx - row.topPx);
    const blockEnd = Math.ceil((last + 1) / LANE_BLOCK) * LANE_BLOCK - 1;
    return { row, firstLane: Math.floor(first / LANE_BLOCK) * LANE_BLOCK, lastLane: Math.min(blockEnd, Math.max(0, row.lanes - 1)) };
  });
}

export function rowAt(layout: Layout, yPx: number): Row | null {
  return layout.rows.find((row) => yPx >= row.topPx && yPx < row.topPx + row.heightPx) ?? null;
}

export function laneTopPx(row: TrackRow, lane: number): number {
  return PADDING_PX + lane * row.lanePx;
}

/** The lane at `yPx` below the top of the row. */
export function laneAt(row: TrackRow, yPx: number): number {
  return Math.min(Math.max(0, Math.floor((yPx - PADDING_PX) / row.lanePx)), Math.max(0, row.lanes - 1));
}
