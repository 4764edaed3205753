/** The tiles of all stacked workers: one loader per worker requests them. */
import type { Failure } from "../api/types";
import type { LaneRange, Layout } from "./layout";
import { TileLoader } from "./loader";
import type { RectBatch } from "./rects";
import { partOf, type Stack, type StackPart } from "./stack";
import type { TrackTile, TrackTiles } from "./tile";
import type { Viewport } from "./viewport";

export interface StackTilesEvents {
  readonly onTile: (tile: TrackTile, part: StackPart) => void;
  readonly onRelease: (batch: RectBatch) => void;
  readonly onChange: () => void;
}

export class StackTiles {
  private readonly loaders: readonly TileLoader[];
  /** By number of the track on screen. */
  private readonly loaderOf: readonly TileLoader[];

  constructor(
    private readonly stack: Stack,
    events: StackTilesEvents,
  ) {
    this.loaders = stack.parts.map((part) => new TileLoader(part, stack.endNs, { ...events, onTile: (tile) => events.onTile(tile, part) }));
    this.loaderOf = stack.parts.flatMap(({ tracks }, index) => tracks.tracks.map(() => this.loaders[index] as TileLoader));
  }

  tilesOf(track: number): TrackTiles {
    const loader = this.loaderOf[track];
    if (loader === undefined) throw new RangeError(`no track ${track}`);
    return loader.tilesOf(track);
  }

  /** Every tile once, with the worker it is of. */
  each(visit: (tile: TrackTile, part: StackPart) => void): void {
    this.stack.parts.forEach((part, index) => {
      for (const tile of new Set(this.loaders[index]?.all())) visit(tile, part);
    });
  }

  /** Why the last request of a worker failed; null when none did. */
  get failure(): Failure | null {
    return this.loaders.find(({ failure }) => failure !== null)?.failure ?? null;
  }

  requestMissing(viewport: Viewport, widthPx: number, lanes: readonly LaneRange[], resting: boolean): void {
    for (const loader of this.loaders) {
      const loaderLanes = lanes.filter(({ row }) => this.loaderOf[row.number] === loader);
      if (loaderLanes.length > 0) loader.requestMissing(viewport, widthPx, loaderLanes, resting);
    }
  }

  close(): void {
    for (const loader of this.loaders) loader.close();
  }
}

/** Steps that are off screen, of the first worker and of those with something on screen. */
export function unseenSteps(stack: Stack, layout: Layout, lanes: readonly LaneRange[]): LaneRange[] {
  const seen = new Set([stack.parts[0], ...lanes.map(({ row }) => partOf(stack, row.track.key))]);
  const steps = layout.tracks.filter(({ track }) => track.kind === "steps" && seen.has(partOf(stack, track.key)));
  return steps.filter((row) => !lanes.some((lane) => lane.row === row)).map((row) => ({ row, firstLane: 0, lastLane: 0 }));
}
