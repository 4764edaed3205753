/**
 * Retains the tiles of every track: requests what is on screen and missing, one request at a time, and
 * drops answers that are no longer needed. Until a finer tile arrives, the last ones are drawn.
 */
import { ApiError, apiUrl, fetchBytes } from "../api/client";
import { fetchUncached } from "../api/queryClient";
import type { Failure } from "../api/types";
import { decodeScreen, emptyBoxes, shiftBoxes, shiftStairs, type Screen } from "./decode";
import type { LaneRange } from "./layout";
import { createBatch } from "./paint";
import type { RectBatch } from "./rects";
import { SliceNames } from "./sliceNames";
import type { StackPart } from "./stack";
import type { TrackTile, TrackTiles } from "./tile";
import { spanNs, wholeTrace, type Viewport } from "./viewport";
import { covers, exactWindow, windowFor, type Window } from "./window";

interface TileRequest {
  readonly window: Window;
  readonly lanes: readonly LaneRange[];
  readonly layer: keyof TrackTiles;
  readonly abort: AbortController;
}

export interface LoaderEvents {
  readonly onTile: (tile: TrackTile) => void;
  readonly onRelease: (batch: RectBatch) => void;
  readonly onChange: () => void;
}

const NO_TILES: TrackTiles = { sharp: null, fine: null, whole: null };
/** After an error; twice as long each time. */
const RETRY_MS = 800;
const MAX_RETRY_MS = 15_000;
/** A tile is replaced in the middle of a movement when it is this much coarser than the screen. */
const TOO_COARSE = 3;

export class TileLoader {
  private readonly tiles = new Map<number, TrackTiles>();
  private readonly names: SliceNames;
  private pending: TileRequest | null = null;
  private retryAt = 0;
  private retryMs = RETRY_MS;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private closed = false;
  /** Why the last request failed; null when it did not. */
  failure: Failure | null = null;

  /**
   * @param part The worker whose tiles these are. All times here are those on screen; only requests to the
   * server use the worker's times.
   * @param durationNs End of the whole stack.
   */
  constructor(
    private readonly part: StackPart,
    private readonly durationNs: number,
    private readonly events: LoaderEvents,
  ) {
    this.names = new SliceNames(part.query, () => this.nameTiles());
  }

  tilesOf(track: number): TrackTiles {
    return this.tiles.get(track) ?? NO_TILES;
  }

  all(): TrackTile[] {
    return [...this.tiles.values()].flatMap(({ sharp, fine, whole }) => [sharp, fine, whole].filter((tile) => tile !== null));
  }

  /**
   * Requests the tiles that these lanes miss in this viewport, unless a request is under way.
   *
   * @param resting Nothing moves: tiles that are too coarse are requested once more, for the visible range alone.
   */
  requestMissing(viewport: Viewport, widthPx: number, lanes: readonly LaneRange[], resting: boolean): void {
    if (this.closed || performance.now() < this.retryAt) return;
    const request = this.missing(viewport, widthPx, lanes, resting);
    if (request === null) return;
    if (this.pending !== null) {
      const isSame = request.layer === "whole" && this.pending.layer === "whole";
      if (isSame || !isStale(this.pending.window, viewport, widthPx, this.durationNs)) return;
      this.pending.abort.abort();
    }
    this.pending = request;
    void this.fetch(request);
  }

  private missing(viewport: Viewport, widthPx: number, lanes: readonly LaneRange[], resting: boolean): TileRequest | null {
    const window = windowFor(viewport, widthPx);
    const missing = lanes.filter((range) => !holds(this.tilesOf(range.row.number).fine, range, window));
    if (missing.length > 0) return { window, lanes: missing, layer: "fine", abort: new AbortController() };
    if (!resting) return null;
    const exact = exactWindow(viewport, widthPx);
    const coarse = lanes.filter((range) => {
      const { fine, sharp } = this.tilesOf(range.row.number);
      return fine?.coarse === true && !holds(sharp, range, exact);
    });
    if (coarse.length > 0) return { window: exact, lanes: coarse, layer: "sharp", abort: new AbortController() };
    // The strip of the whole trace shows its steps, also when a link leads into the middle.
    const steps = lanes.filter(({ row }) => row.track.kind === "steps" && this.tilesOf(row.number).whole === null);
    return steps.length === 0 ? null : { window: windowFor(wholeTrace(this.durationNs), widthPx), lanes: steps, layer: "whole", abort: new AbortController() };
  }

  /** Forgets all tiles; what is asked for later is fetched again. */
  clear(): void {
    this.pending?.abort.abort();
    this.pending = null;
    for (const tile of new Set(this.all())) this.events.onRelease(tile.batch);
    this.tiles.clear();
  }

  close(): void {
    this.closed = true;
    this.pending?.abort.abort();
    this.names.close();
    clearTimeout(this.timer);
  }

  private async fetch(request: TileRequest): Promise<void> {
    const { window, lanes, abort } = request;
    const url = apiUrl("timeline", {
      ...this.part.query,
      start_ns: window.startNs - this.part.shiftNs,
      end_ns: window.endNs - this.part.shiftNs,
      width_px: window.widthPx,
      tracks: lanes.map(({ row, firstLane, lastLane }) => `${row.track.key.slice(this.part.prefix.length)}:${firstLane}-${lastLane}`).join(","),
    });
    try {
      const body = await fetchUncached(url, fetchBytes, { signal: abort.signal });
      this.failure = null;
      this.retryMs = RETRY_MS;
      this.take(decodeScreen(body), request);
    } catch (error) {
      if (abort.signal.aborted) return;
      if (!(error instanceof ApiError)) throw error;
      this.failure = error.failure;
      this.pause();
      this.retryMs = Math.min(MAX_RETRY_MS, 2 * this.retryMs);
    } finally {
      if (this.pending === request) {
        this.pending = null;
        if (!this.closed) this.events.onChange();
      }
    }
  }

  private pause(): void {
    this.retryAt = performance.now() + this.retryMs;
    clearTimeout(this.timer);
    this.timer = setTimeout(this.events.onChange, this.retryMs);
  }

  private take({ head, nameCodes, parts }: Screen, { window, lanes, layer }: TileRequest): void {
    const names = { names: head.names, shortNames: head.short_names, demangledNames: head.demangled_names };
    this.names.fill(names, nameCodes);
    for (const { row, firstLane, lastLane } of lanes) {
      const received = parts.get(row.number - this.part.firstTrack);
      const boxes = shiftBoxes(received?.boxes ?? emptyBoxes(), this.part.shiftNs);
      const { startNs, endNs } = window;
      const tile: TrackTile = {
        startNs,
        endNs,
        pixelNs: head.pixel_ns,
        boxes,
        stairs: received?.stairs == null ? null : shiftStairs(received.stairs, this.part.shiftNs),
        ...names,
        nameCodes,
        firstLane,
        lastLane,
        coarse: head.coarse,
        batch: createBatch(boxes, startNs, endNs),
      };
      this.events.onTile(tile);
      this.put(row.number, tile, layer);
    }
    this.names.requestMissing(head.names, nameCodes);
  }

  private put(track: number, tile: TrackTile, layer: keyof TrackTiles): void {
    const before = this.tilesOf(track);
    const isWhole = covers(tile, { startNs: 0, endNs: this.durationNs }, this.durationNs);
    const after: TrackTiles = layer === "fine" ? { sharp: null, fine: tile, whole: isWhole ? tile : before.whole } : { ...before, [layer]: tile };
    this.tiles.set(track, after);
    const retained = new Set(Object.values(after));
    for (const old of new Set([before.sharp, before.fine, before.whole])) {
      if (old !== null && !retained.has(old)) this.events.onRelease(old.batch);
    }
  }

  /** Names that did not fit into the answer with the tiles have arrived. */
  private nameTiles(): void {
    const filled = new Map<TrackTile["names"], boolean>();
    for (const tile of this.all()) {
      // Tiles of one answer share their names.
      if (!filled.has(tile.names)) filled.set(tile.names, this.names.fill(tile, tile.nameCodes));
      if (filled.get(tile.names) === true) this.events.onTile(tile);
      this.names.requestMissing(tile.names, tile.nameCodes);
    }
    this.events.onChange();
  }
}

function holds(tile: TrackTile | null, { firstLane, lastLane }: LaneRange, window: Window): boolean {
  if (tile === null || tile.firstLane > firstLane || tile.lastLane < lastLane) return false;
  return tile.startNs === window.startNs && tile.endNs === window.endNs;
}

/** Whether the answer would be useless on arrival: it covers another range, or is far too coarse. */
function isStale(requested: Window, viewport: Viewport, widthPx: number, durationNs: number): boolean {
  const pixelNs = spanNs(viewport) / widthPx;
  const requestPixelNs = spanNs(requested) / requested.widthPx;
  return !covers(requested, viewport, durationNs) || requestPixelNs > pixelNs * TOO_COARSE;
}
