/** What a reader who does not see the canvas is told: selections, zooms, what became of tracks. */
import { useSyncExternalStore } from "react";

let said = "";
const listeners = new Set<() => void>();

/** Says a sentence once the page has nothing else to say. */
export function announce(sentence: string): void {
  // The same sentence again is news as well: told apart by a blank nobody hears.
  said = sentence === said ? `${sentence}\u00a0` : sentence;
  for (const listener of listeners) listener();
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
