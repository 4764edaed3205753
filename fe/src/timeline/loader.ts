/**
 * Keeps the tiles of every track: asks for what is on screen and missing, one request at a time, and
 * drops answers nobody waits for any more. Until a finer tile comes, the last ones are drawn.
 */
import { askFor } from "../api/answers";
import { ApiError, apiUrl, fetchBytes } from "../api/client";
import type { Failure } from "../api/types";
import { decodeScreen, emptyBoxes, shiftBoxes, shiftStairs, type Screen } from "./decode";
import type { LaneRange } from "./layout";
import { makeBatch } from "./paint";
import type { RectBatch } from "./rects";
import { SliceNames } from "./sliceNames";
import type { StackPart } from "./stack";
import type { TrackTile, TrackTiles } from "./tile";
import { spanNs, wholeTrace, type Viewport } from "./viewport";
import { covers, exactWindow, windowFor, type Window } from "./window";

interface Asked {
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
const LONGEST_RETRY_MS = 15_000;
/** A tile is replaced in the middle of a movement when it is this much coarser than the screen. */
const TOO_COARSE = 3;

export class TileLoader {
  private readonly tiles = new Map<number, TrackTiles>();
  private readonly names: SliceNames;
  private asked: Asked | null = null;
  private retryAt = 0;
  private retryMs = RETRY_MS;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private closed = false;
  /** Why the last request failed; null when it did not. */
  failure: Failure | null = null;

  /**
   * @param part The worker whose tiles these are. All times here are those on screen; only what is asked of
   * the server is in the worker's own.
   * @param durationNs End of the whole stack.
   */
  constructor(
    private readonly part: StackPart,
    private readonly durationNs: number,
    private readonly events: LoaderEvents,
  ) {
    this.names = new SliceNames(part.query, () => this.nameTiles());
  }

  of(track: number): TrackTiles {
    return this.tiles.get(track) ?? NO_TILES;
  }

  all(): TrackTile[] {
    return [...this.tiles.values()].flatMap(({ sharp, fine, whole }) => [sharp, fine, whole].filter((tile) => tile !== null));
  }

  /**
   * Asks for what these lanes miss in this viewport, unless that is under way.
   *
   * @param resting Nothing moves: what is too coarse is asked for once more, without surroundings.
   */
  want(viewport: Viewport, widthPx: number, lanes: readonly LaneRange[], resting: boolean): void {
    if (this.closed || performance.now() < this.retryAt) return;
    const asked = this.missing(viewport, widthPx, lanes, resting);
    if (asked === null) return;
    if (this.asked !== null) {
      const isSame = asked.layer === "whole" && this.asked.layer === "whole";
      if (isSame || !isStale(this.asked.window, viewport, widthPx, this.durationNs)) return;
      this.asked.abort.abort();
    }
    this.asked = asked;
    void this.fetch(asked);
  }

  private missing(viewport: Viewport, widthPx: number, lanes: readonly LaneRange[], resting: boolean): Asked | null {
    const window = windowFor(viewport, widthPx);
    const missing = lanes.filter((range) => !holds(this.of(range.row.number).fine, range, window));
    if (missing.length > 0) return { window, lanes: missing, layer: "fine", abort: new AbortController() };
    if (!resting) return null;
    const exact = exactWindow(viewport, widthPx);
    const coarse = lanes.filter((range) => {
      const { fine, sharp } = this.of(range.row.number);
      return fine?.coarse === true && !holds(sharp, range, exact);
    });
    if (coarse.length > 0) return { window: exact, lanes: coarse, layer: "sharp", abort: new AbortController() };
    // The strip of the whole trace shows its steps, also when a link leads into the middle.
    const steps = lanes.filter(({ row }) => row.track.kind === "steps" && this.of(row.number).whole === null);
    return steps.length === 0 ? null : { window: windowFor(wholeTrace(this.durationNs), widthPx), lanes: steps, layer: "whole", abort: new AbortController() };
  }

  close(): void {
    this.closed = true;
    this.asked?.abort.abort();
    this.names.close();
    clearTimeout(this.timer);
  }

  private async fetch(asked: Asked): Promise<void> {
    const { window, lanes, abort } = asked;
    const url = apiUrl("timeline", {
      ...this.part.query,
      start_ns: window.startNs - this.part.shiftNs,
      end_ns: window.endNs - this.part.shiftNs,
      width_px: window.widthPx,
      tracks: lanes.map(({ row, firstLane, lastLane }) => `${row.track.key.slice(this.part.prefix.length)}:${firstLane}-${lastLane}`).join(","),
    });
    try {
      const body = await askFor(url, fetchBytes, { signal: abort.signal });
      this.failure = null;
      this.retryMs = RETRY_MS;
      this.take(decodeScreen(body), asked);
    } catch (error) {
      if (abort.signal.aborted) return;
      if (!(error instanceof ApiError)) throw error;
      this.failure = error.failure;
      this.pause();
      this.retryMs = Math.min(LONGEST_RETRY_MS, 2 * this.retryMs);
    } finally {
      if (this.asked === asked) {
        this.asked = null;
        if (!this.closed) this.events.onChange();
      }
    }
  }

  private pause(): void {
    this.retryAt = performance.now() + this.retryMs;
    clearTimeout(this.timer);
    this.timer = setTimeout(this.events.onChange, this.retryMs);
  }

  private take({ head, nameCodes, parts }: Screen, { window, lanes, layer }: Asked): void {
    const names = { names: head.names, shortNames: head.short_names, demangledNames: head.demangled_names };
    this.names.fill(names, nameCodes);
    for (const { row, firstLane, lastLane } of lanes) {
      const answered = parts.get(row.number - this.part.firstTrack);
      const boxes = shiftBoxes(answered?.boxes ?? emptyBoxes(), this.part.shiftNs);
      const { startNs, endNs } = window;
      const tile: TrackTile = {
        startNs,
        endNs,
        pixelNs: head.pixel_ns,
        boxes,
        stairs: answered?.stairs == null ? null : shiftStairs(answered.stairs, this.part.shiftNs),
        ...names,
        nameCodes,
        firstLane,
        lastLane,
        coarse: head.coarse,
        batch: makeBatch(boxes, startNs, endNs),
      };
      this.events.onTile(tile);
      this.put(row.number, tile, layer);
    }
    this.names.want(head.names, nameCodes);
  }

  private put(track: number, tile: TrackTile, layer: keyof TrackTiles): void {
    const before = this.of(track);
    const isWhole = covers(tile, { startNs: 0, endNs: this.durationNs }, this.durationNs);
    const after: TrackTiles = layer === "fine" ? { sharp: null, fine: tile, whole: isWhole ? tile : before.whole } : { ...before, [layer]: tile };
    this.tiles.set(track, after);
    const kept = new Set(Object.values(after));
    for (const old of new Set([before.sharp, before.fine, before.whole])) {
      if (old !== null && !kept.has(old)) this.events.onRelease(old.batch);
    }
  }

  /** Names that the server had no room for beside the tiles have come. */
  private nameTiles(): void {
    const filled = new Map<TrackTile["names"], boolean>();
    for (const tile of this.all()) {
      // Tiles of one answer share their names.
      if (!filled.has(tile.names)) filled.set(tile.names, this.names.fill(tile, tile.nameCodes));
      if (filled.get(tile.names) === true) this.events.onTile(tile);
      this.names.want(tile.names, tile.nameCodes);
    }
    this.events.onChange();
  }
}

function holds(tile: TrackTile | null, { firstLane, lastLane }: LaneRange, window: Window): boolean {
  if (tile === null || tile.firstLane > firstLane || tile.lastLane < lastLane) return false;
  return tile.startNs === window.startNs && tile.endNs === window.endNs;
}

/** Whether the answer would be of no use when it comes: it lies elsewhere, or is far too coarse. */
function isStale(asked: Window, viewport: Viewport, widthPx: number, durationNs: number): boolean {
  const pixelNs = spanNs(viewport) / widthPx;
  const askedPixelNs = spanNs(asked) / asked.widthPx;
  return !covers(asked, viewport, durationNs) || askedPixelNs > pixelNs * TOO_COARSE;
}
