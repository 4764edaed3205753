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

/** Tiles of so many workers are retained; those of others are fetched again when they come on screen. */
export const MAX_LOADED_BANDS = 200;
/** The same of workers with all tracks, besides the first. */
export const MAX_LOADED_WORKERS = 8;

export class StackTiles {
  private readonly parts: readonly StackPart[];
  private readonly loaders: readonly TileLoader[];
  /** By number of the track on screen. */
  private readonly loaderOf: readonly TileLoader[];
  private readonly bandLoaders: ReadonlySet<TileLoader>;
  /** The loaders that hold tiles and may be cleared, those on screen last. */
  private readonly loadedBands = new Set<TileLoader>();
  private readonly loadedWorkers = new Set<TileLoader>();

  constructor(stack: Stack, events: StackTilesEvents) {
    this.parts = [...stack.parts, ...stack.bands];
    this.loaders = this.parts.map((part) => new TileLoader(part, stack.endNs, { ...events, onTile: (tile) => events.onTile(tile, part) }));
    this.loaderOf = this.parts.flatMap(({ tracks }, index) => tracks.tracks.map(() => this.loaders[index] as TileLoader));
    this.bandLoaders = new Set(this.loaders.slice(stack.parts.length));
  }

  tilesOf(track: number): TrackTiles {
    const loader = this.loaderOf[track];
    if (loader === undefined) throw new RangeError(`no track ${track}`);
    return loader.tilesOf(track);
  }

  /** Every tile once, with the worker it is of. */
  each(visit: (tile: TrackTile, part: StackPart) => void): void {
    this.parts.forEach((part, index) => {
      for (const tile of new Set(this.loaders[index]?.all())) visit(tile, part);
    });
  }

  /** Why the last request of a worker failed; null when none did. */
  get failure(): Failure | null {
    return this.loaders.find(({ failure }) => failure !== null)?.failure ?? null;
  }

  requestMissing(viewport: Viewport, widthPx: number, lanes: readonly LaneRange[], resting: boolean): void {
    const lanesOf = new Map<TileLoader, LaneRange[]>();
    for (const lane of lanes) {
      const loader = this.loaderOf[lane.row.number];
      if (loader === undefined) continue;
      const known = lanesOf.get(loader);
      if (known === undefined) lanesOf.set(loader, [lane]);
      else known.push(lane);
    }
    for (const [loader, loaderLanes] of lanesOf) {
      // The strip above the tracks always shows the steps of the first worker.
      if (loader !== this.loaders[0]) {
        const loaded = this.bandLoaders.has(loader) ? this.loadedBands : this.loadedWorkers;
        loaded.delete(loader);
        loaded.add(loader);
      }
      loader.requestMissing(viewport, widthPx, loaderLanes, resting);
    }
    releaseOldest(this.loadedBands, MAX_LOADED_BANDS, lanesOf);
    releaseOldest(this.loadedWorkers, MAX_LOADED_WORKERS, lanesOf);
  }

  close(): void {
    for (const loader of this.loaders) loader.close();
  }
}

/** Drops the tiles of what was off screen for the longest time. */
function releaseOldest(loaded: Set<TileLoader>, limit: number, onScreen: ReadonlyMap<TileLoader, unknown>): void {
  for (const loader of loaded) {
    if (loaded.size <= limit || onScreen.has(loader)) return;
    loaded.delete(loader);
    loader.clear();
  }
}

/** Steps that are off screen, of the first worker and of those with something on screen. */
export function unseenSteps(stack: Stack, layout: Layout, lanes: readonly LaneRange[]): LaneRange[] {
  const seen = [...new Set([stack.parts[0], ...lanes.map(({ row }) => partOf(stack, row.track.key))])];
  const steps = layout.tracks.filter(({ track }) => track.kind === "steps" && seen.some(({ prefix }) => track.key.startsWith(prefix)));
  return steps.filter((row) => !lanes.some((lane) => lane.row === row)).map((row) => ({ row, firstLane: 0, lastLane: 0 }));
}
