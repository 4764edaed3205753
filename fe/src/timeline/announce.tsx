/** Announcements for screen readers: selections, zooms, changes of tracks. */
import { useSyncExternalStore } from "react";

let current = "";
let announcedMs = -Infinity;
let timer = 0;
/** A sentence is not interrupted by a less important one for this long. */
const MIN_SPOKEN_MS = 1000;
const listeners = new Set<() => void>();

/** Announces a sentence, politely: after what the screen reader is speaking. */
export function announce(sentence: string): void {
  clearTimeout(timer);
  announcedMs = performance.now();
  // A repeated sentence is announced as well: a blank that is not spoken makes it differ.
  current = sentence === current ? `${sentence}\u00a0` : sentence;
  for (const listener of listeners) listener();
}

/** Announces a less important sentence after the last one was spoken, unless another one follows until then. */
export function announceLater(sentence: string): void {
  clearTimeout(timer);
  timer = window.setTimeout(() => announce(sentence), Math.max(0, announcedMs + MIN_SPOKEN_MS - performance.now()));
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function Announcements() {
  const text = useSyncExternalStore(subscribe, () => current);
  return (
    <div className="tl-said" aria-live="polite">
      {text}
    </div>
  );
}
