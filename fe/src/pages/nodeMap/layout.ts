/** Where hosts, devices and links of the map of the nodes are drawn. */
import type { Table } from "../../api/types";
import { numberOf, textOf } from "../../lib/rows";

/** Of more hosts only small cells are drawn, without links. */
export const MOST_HOSTS = 16;
/** More links cover each other. */
export const MOST_LINKS = 512;
export const UNKNOWN_HOST = "Host not recorded";
/** Ranks of which only their partners have a recording. */
export const OTHER_RANKS = "Ranks without a recording";

export interface Device {
  readonly id: string;
  /** Null for a rank without a recording. */
  readonly worker: string | null;
  readonly rank: number | null;
  readonly device: number | null;
  readonly name: string;
  readonly x: number;
  readonly y: number;
  readonly values: Readonly<Record<string, number | null>>;
}

export interface Host {
  readonly name: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly devices: readonly Device[];
}

export interface Link {
  readonly id: string;
  readonly from: Device;
  readonly to: Device;
  readonly transport: string;
  readonly sizeBytes: number;
  readonly bandwidthGbPerS: number | null;
}

export interface NodeLayout {
  readonly hosts: readonly Host[];
  readonly links: readonly Link[];
  /** Links that are not drawn. */
  readonly hidden: number;
  readonly isCompact: boolean;
  readonly cellPx: number;
  readonly width: number;
  readonly height: number;
}

const PADDING_PX = 12;
const TITLE_PX = 22;
const HOST_GAP_PX = 28;
const DETAIL = { cellPx: 34, gapPx: 22, columns: 4 };
const COMPACT = { cellPx: 10, gapPx: 2, columns: 8 };

/**
 * @param map The table `node_map`.
 * @param links The table `node_links`.
 * @param keys The columns whose values devices have.
 * @param widthPx Of the picture.
 */
export function nodeLayout(map: Table, links: Table | undefined, keys: readonly string[], widthPx: number): NodeLayout {
  const byHost = new Map<string, Omit<Device, "x" | "y">[]>();
  const known = new Set<number>();
  map.rows.forEach((row, index) => {
    const rank = numberOf(map, row, "rank");
    if (rank !== null) known.add(rank);
    const values = Object.fromEntries(keys.map((key) => [key, numberOf(map, row, key)]));
    add(byHost, textOf(map, row, "node") || UNKNOWN_HOST, {
      id: String(index),
      worker: textOf(map, row, "worker"),
      rank,
      device: numberOf(map, row, "device"),
      name: textOf(map, row, "device_name"),
      values,
    });
  });
  const ends = links === undefined ? [] : links.rows.flatMap((row) => [numberOf(links, row, "source_rank"), numberOf(links, row, "destination_rank")]);
  const others = [...new Set(ends)].filter((rank): rank is number => rank !== null && !known.has(rank)).sort((a, b) => a - b);
  for (const rank of others) add(byHost, OTHER_RANKS, { id: `rank ${rank}`, worker: null, rank, device: null, name: "", values: {} });
  const isCompact = byHost.size > MOST_HOSTS;
  const hosts = positioned(byHost, isCompact, widthPx);
  const ofRank = new Map(hosts.flatMap(({ devices }) => devices.flatMap((each): [number, Device][] => (each.rank === null ? [] : [[each.rank, each]]))));
  const all = links === undefined ? [] : linksOf(links, ofRank);
  const drawn = isCompact ? [] : all.slice(0, MOST_LINKS);
  const { cellPx } = isCompact ? COMPACT : DETAIL;
  const height = Math.max(0, ...hosts.map((host) => host.y + host.height));
  return { hosts, links: drawn, hidden: (links?.row_count ?? 0) - drawn.length, isCompact, cellPx, width: widthPx, height };
}

function add<T>(groups: Map<string, T[]>, key: string, value: T): void {
  const group = groups.get(key);
  if (group === undefined) groups.set(key, [value]);
  else group.push(value);
}

/** Hosts from left to right, in rows as high as their highest. */
function positioned(byHost: ReadonlyMap<string, readonly Omit<Device, "x" | "y">[]>, isCompact: boolean, widthPx: number): Host[] {
  const { cellPx, gapPx, columns } = isCompact ? COMPACT : DETAIL;
  const hosts: Host[] = [];
  let [left, top, rowHeight] = [0, 0, 0];
  for (const [name, devices] of byHost) {
    const across = Math.max(isCompact ? columns : 3, Math.min(columns, devices.length));
    const width = across * (cellPx + gapPx) - gapPx + 2 * PADDING_PX;
    const height = Math.ceil(devices.length / columns) * (cellPx + gapPx) - gapPx + TITLE_PX + 2 * PADDING_PX;
    if (left > 0 && left + width > widthPx) [left, top, rowHeight] = [0, top + rowHeight + HOST_GAP_PX, 0];
    const at = { left, top };
    hosts.push({
      name,
      x: left,
      y: top,
      width,
      height,
      devices: devices.map((each, index) => ({
        ...each,
        x: at.left + PADDING_PX + (index % columns) * (cellPx + gapPx),
        y: at.top + TITLE_PX + PADDING_PX + Math.floor(index / columns) * (cellPx + gapPx),
      })),
    });
    left += width + HOST_GAP_PX;
    rowHeight = Math.max(rowHeight, height);
  }
  return hosts;
}

/** The largest first. */
function linksOf(table: Table, ofRank: ReadonlyMap<number, Device>): Link[] {
  return table.rows
    .flatMap((row, index): Link[] => {
      const from = ofRank.get(numberOf(table, row, "source_rank") ?? -1);
      const to = ofRank.get(numberOf(table, row, "destination_rank") ?? -1);
      const sizeBytes = numberOf(table, row, "size_bytes");
      if (from === undefined || to === undefined || sizeBytes === null) return [];
      return [{ id: String(index), from, to, transport: textOf(table, row, "transport"), sizeBytes, bandwidthGbPerS: numberOf(table, row, "bandwidth_gb_per_s") }];
    })
    .sort((a, b) => b.sizeBytes - a.sizeBytes);
}

const BEND = 0.18;

/** A curve from one device to another, bent to its right: the way back is another curve. */
export function curve({ from, to }: Pick<Link, "from" | "to">, cellPx: number): string {
  const half = cellPx / 2;
  const [x1, y1, x2, y2] = [from.x + half, from.y + half, to.x + half, to.y + half];
  const [bendX, bendY] = [(x1 + x2) / 2 - BEND * (y2 - y1), (y1 + y2) / 2 + BEND * (x2 - x1)];
  return `M${x1.toFixed(1)} ${y1.toFixed(1)}Q${bendX.toFixed(1)} ${bendY.toFixed(1)} ${x2.toFixed(1)} ${y2.toFixed(1)}`;
}

const WIDEST_PX = 5;

/** As wide as its share of the bytes; never too thin to see. */
export function strokePx(sizeBytes: number, largestBytes: number): number {
  return largestBytes <= 0 ? 1 : Math.max(1, WIDEST_PX * Math.sqrt(sizeBytes / largestBytes));
}
