/**
 * How the timeline writes its address, so that Back stays here: the first thing the reader does leaves the place as it
 * was opened behind, to go back to, and so does a jump from where the reader stayed a while. All else takes the place
 * of what stood in the address: moving about would fill the history.
 *
 *     kernels → timeline → (zoom, pan, select …) → jump → …      Back goes from jump to jump, then to where it was opened
 */
import { useEffect } from "react";

import { adjust, navigate, type Patch } from "../state/urlStore";

/** Where the reader stayed for less, nobody goes back to. */
const STAYED_MS = 1500;
const ACTIONS = ["pointerdown", "keydown", "wheel"] as const;

export class Visit {
  private hasActed = false;
  private hasLeft = false;
  private isJump = false;
  private lastMs = 0;

  constructor(
    private readonly replace: (patch: Patch) => void = adjust,
    private readonly push: (patch: Patch) => void = navigate,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** The reader did something: what changes before is the page's own doing. */
  act(): void {
    this.hasActed = true;
  }

  /** The browser went back or on: this place is one to come back to again, once the reader does something. */
  arrive(): void {
    this.hasActed = false;
    this.hasLeft = false;
  }

  /** What is written next is a jump. */
  jump(): void {
    this.isJump = true;
  }

  write(patch: Patch): void {
    const { hasActed, hasLeft, isJump, lastMs } = this;
    const nowMs = this.nowMs();
    this.isJump = false;
    this.lastMs = nowMs;
    const isLeft = hasActed && (!hasLeft || (isJump && nowMs - lastMs >= STAYED_MS));
    if (isLeft) this.hasLeft = true;
    (isLeft ? this.push : this.replace)(patch);
  }
}

/** Of the page that is open; each opening is a visit of its own. */
let current = new Visit();

/** Writes what the reader changed. */
export function place(patch: Patch): void {
  current.write(patch);
}

/** Writes where the reader jumped to. */
export function jumpTo(patch: Patch): void {
  current.jump();
  current.write(patch);
}

/** What the viewport will write when it rests is a jump. */
export function jumps(): void {
  current.jump();
}

export function useVisit(): void {
  useEffect(() => {
    const visit = new Visit();
    current = visit;
    const onAction = () => visit.act();
    const onBack = () => visit.arrive();
    for (const action of ACTIONS) window.addEventListener(action, onAction, { capture: true, passive: true });
    window.addEventListener("popstate", onBack);
    return () => {
      for (const action of ACTIONS) window.removeEventListener(action, onAction, true);
      window.removeEventListener("popstate", onBack);
    };
  }, []);
}
