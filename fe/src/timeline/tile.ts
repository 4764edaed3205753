/** One answer of `/timeline` for one track: what is drawn, hit and labelled. */
import { shownName, type NameMode } from "../lib/names";
import type { RectBatch } from "./rects";

/** Slices and merged blocks of a track in columns; a row is a box on the screen. */
export interface Boxes {
  readonly count: number;
  /** From the origin of the trace. */
  readonly startNs: Float64Array;
  readonly endNs: Float64Array;
  readonly lane: Uint16Array;
  readonly category: Uint8Array;
  /** Number of slices in it: 1, or more for a merged block. */
  readonly slices: Uint32Array;
  /** Share of its width that is busy, 0–1; 1 for a slice. */
  readonly busy: Float32Array;
  /** Row in the names of the tile; NO_NAME for merged blocks. */
  readonly name: Uint32Array;
  /** For `/slice/<id>`; NO_ID where there is none. */
  readonly id: Uint32Array;
}

/** A counter as stairs: each point holds from its time to the next one's. */
export interface Stairs {
  readonly timeNs: Float64Array;
  readonly min: Float32Array;
  readonly max: Float32Array;
  readonly last: Float32Array;
}

export interface TrackTile {
  readonly startNs: number;
  readonly endNs: number;
  readonly pixelNs: number;
  readonly boxes: Boxes;
  readonly stairs: Stairs | null;
  /** Shared by all tracks of the answer; null where the server had no room. */
  readonly names: (string | null)[];
  /** The short form of those of kernels, else null. */
  readonly shortNames: (string | null)[];
  /** The demangled form of those that are mangled, else null. */
  readonly demangledNames: (string | null)[];
  readonly nameCodes: Uint32Array;
  /** The lanes that were requested, the last one included. */
  readonly firstLane: number;
  readonly lastLane: number;
  /** Whether the server merged more than the pixels need, to limit the answer's size. */
  readonly coarse: boolean;
  readonly batch: RectBatch;
}

/** What is there to draw a track from, finest first. */
export interface TrackTiles {
  /** Exactly the screen, where `fine` had to be coarse. */
  readonly sharp: TrackTile | null;
  /** The screen and its surroundings. */
  readonly fine: TrackTile | null;
  /** One that shows the whole trace: the backdrop when a pan outruns the answers. */
  readonly whole: TrackTile | null;
}

/** The lists of names of a tile. */
export type TileNames = Pick<TrackTile, "names" | "shortNames" | "demangledNames">;

export const NO_ID = 0xffffffff;
export const NO_NAME = 0xffffffff;

/** The name as the reader wants to read it; the recorded one where there is no other. */
export function shownNameOf(tile: TrackTile, box: number, mode: NameMode): string | null {
  const row = tile.boxes.name[box] ?? NO_NAME;
  const recorded = nameOf(tile, box);
  return recorded === null ? null : shownName({ recorded, short: tile.shortNames[row] ?? null, demangled: tile.demangledNames[row] ?? null }, mode);
}

export function nameOf(tile: TrackTile, box: number): string | null {
  const row = tile.boxes.name[box] ?? NO_NAME;
  return row === NO_NAME ? null : (tile.names[row] ?? null);
}
