/** Movements that take several frames: gliding to a range, and keys that act while they are held. */
import type { Motion } from "./keys";
import { between, panBy, zoomAt, type Viewport } from "./viewport";

const TRANSITION_MS = 180;
/** Held keys: factor and screens per second. */
const ZOOM_PER_S = 5;
const PAN_PER_S = 1.1;
/** What one press of a key moves where there is no motion. */
export const STEP_S = 0.12;
/** Longer pauses between frames would make held keys jump. */
const MAX_FRAME_MS = 50;

interface Transition {
  readonly from: Viewport;
  readonly to: Viewport;
  readonly startMs: number;
}

export class Mover {
  private transition: Transition | null = null;
  private readonly motions = new Set<Motion>();
  /** Where held keys zoom: 0 left edge, 1 right edge. */
  private at = 0.5;
  private lastFrameMs = 0;

  get isMoving(): boolean {
    return this.transition !== null || this.motions.size > 0;
  }

  /** Where a glide will end; null when there is none. */
  get target(): Viewport | null {
    return this.transition?.to ?? null;
  }

  stopGlide(): void {
    this.transition = null;
  }

  glide(from: Viewport, to: Viewport, nowMs: number): void {
    this.transition = { from, to, startMs: nowMs };
  }

  hold(motion: Motion, at: number, nowMs: number): void {
    if (this.motions.size === 0) this.lastFrameMs = nowMs;
    this.motions.add(motion);
    this.at = at;
    this.transition = null;
  }

  /** @param motion Null lets go of all. */
  release(motion: Motion | null): void {
    if (motion === null) this.motions.clear();
    else this.motions.delete(motion);
  }

  /** The viewport of the next frame; the same object where nothing moves. */
  advance(viewport: Viewport, durationNs: number, nowMs: number): Viewport {
    const elapsedMs = Math.min(Math.max(0, nowMs - this.lastFrameMs), MAX_FRAME_MS);
    this.lastFrameMs = nowMs;
    let next = viewport;
    for (const motion of this.motions) next = stepped(next, motion, this.at, elapsedMs / 1000, durationNs);
    if (this.transition === null) return next;
    const { from, to, startMs } = this.transition;
    const progress = Math.min(1, Math.max(0, (nowMs - startMs) / TRANSITION_MS));
    if (progress >= 1) this.transition = null;
    return between(from, to, 1 - (1 - progress) ** 3);
  }
}

/** What a key that is held for so long does. */
export function stepped(viewport: Viewport, motion: Motion, at: number, seconds: number, durationNs: number): Viewport {
  if (motion === "zoomIn") return zoomAt(viewport, ZOOM_PER_S ** -seconds, at, durationNs);
  if (motion === "zoomOut") return zoomAt(viewport, ZOOM_PER_S ** seconds, at, durationNs);
  return panBy(viewport, (motion === "panLeft" ? -PAN_PER_S : PAN_PER_S) * seconds, durationNs);
}
