/** What a reader who does not see the canvas is told: selections, zooms, what became of tracks. */
import { useSyncExternalStore } from "react";

let said = "";
let saidMs = -Infinity;
/** So long a sentence is not cut short by news of less weight. */
const HEARD_MS = 1000;
const listeners = new Set<() => void>();

/** Says a sentence once the page has nothing else to say. */
export function announce(sentence: string): void {
  saidMs = performance.now();
  // The same sentence again is news as well: told apart by a blank nobody hears.
  said = sentence === said ? `${sentence}\u00a0` : sentence;
  for (const listener of listeners) listener();
}

/** Says what follows from something else only where nothing was said of that. */
export function announceAside(sentence: string): void {
  if (performance.now() - saidMs > HEARD_MS) announce(sentence);
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
