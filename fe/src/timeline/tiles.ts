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

/** Bands of so many workers keep their tiles; of others they are fetched again when they come on screen. */
const MAX_LOADED_BANDS = 200;

export class StackTiles {
  private readonly parts: readonly StackPart[];
  private readonly loaders: readonly TileLoader[];
  /** By number of the track on screen. */
  private readonly loaderOf: readonly TileLoader[];
  private readonly bandLoaders: ReadonlySet<TileLoader>;
  /** The loaders of bands that hold tiles, those on screen last. */
  private readonly loaded = new Set<TileLoader>();

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
      if (this.bandLoaders.has(loader)) {
        this.loaded.delete(loader);
        this.loaded.add(loader);
      }
      loader.requestMissing(viewport, widthPx, loaderLanes, resting);
    }
    this.releaseOldest(lanesOf);
  }

  /** Drops the tiles of the bands that were off screen for the longest time. */
  private releaseOldest(onScreen: ReadonlyMap<TileLoader, unknown>): void {
    for (const loader of this.loaded) {
      if (this.loaded.size <= MAX_LOADED_BANDS || onScreen.has(loader)) return;
      this.loaded.delete(loader);
      loader.clear();
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
