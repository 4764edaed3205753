/** What a reader who does not see the canvas is told: selections, zooms, what became of tracks. */
import { useSyncExternalStore } from "react";

let said = "";
let saidMs = -Infinity;
let waiting = 0;
/** So long a sentence is not cut short by news of less weight. */
const HEARD_MS = 1000;
const listeners = new Set<() => void>();

/** Says a sentence once the page has nothing else to say. */
export function announce(sentence: string): void {
  clearTimeout(waiting);
  saidMs = performance.now();
  // The same sentence again is news as well: told apart by a blank nobody hears.
  said = sentence === said ? `${sentence}\u00a0` : sentence;
  for (const listener of listeners) listener();
}

/** Says what is of less weight when the last sentence was heard, unless another one follows until then. */
export function announceAside(sentence: string): void {
  clearTimeout(waiting);
  waiting = window.setTimeout(() => announce(sentence), Math.max(0, saidMs + HEARD_MS - performance.now()));
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function Announcements() {
  const text = useSyncExternalStore(subscribe, () => said);
  return (
    <div className="tl-said" aria-live="polite">
      {text}
    </div>
  );
}
