/**
 * How the timeline writes its address, so that Back is useful: the user's first action adds a history entry for the
 * state in which the timeline was opened, and so does a jump from a state that was shown for a while. Everything else
 * replaces the current entry: panning and zooming would fill the history.
 *
 *     kernels → timeline → (zoom, pan, select …) → jump → …      Back goes from jump to jump, then to where it was opened
 */
import { useEffect } from "react";

import { adjust, navigate, type Patch } from "../state/urlStore";

/** States that were shown for less get no history entry. */
const MIN_STAY_MS = 1500;
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

  /** The user did something: changes before that are the page's own. */
  act(): void {
    this.hasActed = true;
  }

  /** The browser went back or forward: the next action adds an entry for this state again. */
  arrive(): void {
    this.hasActed = false;
    this.hasLeft = false;
  }

  /** Declares that the next write is a jump. */
  jump(): void {
    this.isJump = true;
  }

  write(patch: Patch): void {
    const { hasActed, hasLeft, isJump, lastMs } = this;
    const nowMs = this.nowMs();
    this.isJump = false;
    this.lastMs = nowMs;
    const isPushed = hasActed && (!hasLeft || (isJump && nowMs - lastMs >= MIN_STAY_MS));
    if (isPushed) this.hasLeft = true;
    (isPushed ? this.push : this.replace)(patch);
  }
}

/** The visit of the open page; each opening is a new one. */
let current = new Visit();

/** Writes a change by the user. */
export function writeAddress(patch: Patch): void {
  current.write(patch);
}

/** Writes a jump by the user. */
export function jumpTo(patch: Patch): void {
  current.jump();
  current.write(patch);
}

/** Declares that the next write, when the viewport rests, is a jump. */
export function markJump(): void {
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
