/** The zooms that can be undone: what was on screen whenever it rested. */
import { spanNs, type Viewport } from "./viewport";

const MAX_ENTRIES = 50;
/** Of two resting viewports at one zoom that differ by less, only the later one is recorded. */
const SAME_ZOOM = 0.001;

export class ZoomHistory {
  private viewports: readonly Viewport[] = [];
  private at = -1;

  /** The screen rests here. */
  rest(viewport: Viewport): void {
    const now = this.viewports[this.at];
    if (now !== undefined && isSame(now, viewport)) return;
    if (now !== undefined && Math.abs(spanNs(now) / spanNs(viewport) - 1) < SAME_ZOOM) {
      this.viewports = this.viewports.with(this.at, viewport);
      return;
    }
    this.viewports = [...this.viewports.slice(0, this.at + 1), viewport].slice(-MAX_ENTRIES);
    this.at = this.viewports.length - 1;
  }

  /** What was on screen before the last zoom; null where there was none. */
  undo(shown: Viewport): Viewport | null {
    this.rest(shown);
    if (this.at <= 0) return null;
    this.at -= 1;
    return this.viewports[this.at] ?? null;
  }

  redo(shown: Viewport): Viewport | null {
    this.rest(shown);
    if (this.at >= this.viewports.length - 1) return null;
    this.at += 1;
    return this.viewports[this.at] ?? null;
  }
}

/** To the nanosecond, as an address holds it. */
function isSame(one: Viewport, other: Viewport): boolean {
  return Math.abs(one.startNs - other.startNs) < 1 && Math.abs(one.endNs - other.endNs) < 1;
}
