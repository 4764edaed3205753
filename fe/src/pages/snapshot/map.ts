/** Segments of an allocator with their blocks, for the memory map. */
import type { Row, Table } from "../../api/types";
import { numberOf, textOf } from "../../lib/rows";

export interface MapBlock {
  readonly row: Row;
  readonly offset: number;
  readonly size: number;
  readonly state: string;
}

export interface MapSegment {
  readonly number: number;
  readonly device: string;
  readonly size: number;
  readonly usedPct: number | null;
  readonly blocks: readonly MapBlock[];
}

/** The largest segments that are drawn. */
export const MAX_SEGMENTS = 60;

/** The largest segments of a device with their known blocks, in order of offset. */
export function segmentsOf(segments: Table, blocks: Table, device: string | null): MapSegment[] {
  const bySegment = new Map<number, MapBlock[]>();
  for (const row of blocks.rows) {
    const segment = numberOf(blocks, row, "segment");
    const offset = numberOf(blocks, row, "offset_bytes");
    const size = numberOf(blocks, row, "size_bytes");
    if (segment === null || offset === null || size === null) continue;
    const list = bySegment.get(segment) ?? [];
    list.push({ row, offset, size, state: textOf(blocks, row, "state") });
    bySegment.set(segment, list);
  }
  return segments.rows
    .flatMap((row): MapSegment[] => {
      const number = numberOf(segments, row, "segment");
      const size = numberOf(segments, row, "total_bytes");
      const segmentDevice = textOf(segments, row, "device");
      if (number === null || size === null || size <= 0 || (device !== null && segmentDevice !== device)) return [];
      const segmentBlocks = [...(bySegment.get(number) ?? [])].sort((a, b) => a.offset - b.offset);
      return [{ number, device: segmentDevice, size, usedPct: numberOf(segments, row, "used_pct"), blocks: segmentBlocks }];
    })
    .sort((a, b) => b.size - a.size)
    .slice(0, MAX_SEGMENTS);
}

/** Devices in the order in which the server lists their segments. */
export function devicesOf(segments: Table): string[] {
  return [...new Set(segments.rows.map((row) => textOf(segments, row, "device")))];
}

/** The CSS class of a block by its state. */
export function stateClass(state: string): string {
  if (state === "active_allocated") return "used";
  return state === "inactive" ? "free" : "pending";
}
