/** The zooms that can be undone: what was on screen whenever it rested. */
import { spanNs, type Viewport } from "./viewport";

const MAX_KEPT = 50;
/** Of two rests at one zoom, which differ by less, the later one stands for both. */
const SAME_ZOOM = 0.001;

export class ZoomHistory {
  private kept: readonly Viewport[] = [];
  private at = -1;

  /** The screen rests here. */
  rest(viewport: Viewport): void {
    const now = this.kept[this.at];
    if (now !== undefined && isSame(now, viewport)) return;
    if (now !== undefined && Math.abs(spanNs(now) / spanNs(viewport) - 1) < SAME_ZOOM) {
      this.kept = this.kept.with(this.at, viewport);
      return;
    }
    this.kept = [...this.kept.slice(0, this.at + 1), viewport].slice(-MAX_KEPT);
    this.at = this.kept.length - 1;
  }

  /** What was on screen before the last zoom; null where there was none. */
  undo(shown: Viewport): Viewport | null {
    this.rest(shown);
    if (this.at <= 0) return null;
    this.at -= 1;
    return this.kept[this.at] ?? null;
  }

  redo(shown: Viewport): Viewport | null {
    this.rest(shown);
    if (this.at >= this.kept.length - 1) return null;
    this.at += 1;
    return this.kept[this.at] ?? null;
  }
}

/** To the nanosecond, as an address holds it. */
function isSame(one: Viewport, other: Viewport): boolean {
  return Math.abs(one.startNs - other.startNs) < 1 && Math.abs(one.endNs - other.endNs) < 1;
}
