/** Brings the table that a link speaks of (`table=` in the address) into sight, once per visit or click. */
import { useEffect, useRef, useSyncExternalStore } from "react";

import { useParams } from "../state/urlStore";

let asked = 0;
const listeners = new Set<() => void>();

/** Asks again: a click on a link to the place where one is changes nothing in the address. */
export function askToReveal(): void {
  asked += 1;
  for (const listener of listeners) listener();
}

/** @param ready Whether the tables of the view are drawn as the address says. */
export function useReveal(ready: boolean): void {
  const { table } = useParams() as Record<string, string | undefined>;
  const now = useSyncExternalStore(subscribe, () => asked);
  const served = useRef<number | null>(null);
  useEffect(() => {
    if (!ready || table === undefined || served.current === now) return;
    served.current = now;
    reveal(table);
  }, [ready, table, now]);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function reveal(table: string): void {
  const place = document.querySelector<HTMLElement>(`[data-table="${CSS.escape(table)}"]`);
  if (place === null) return;
  place.scrollIntoView({ block: "start" });
  // Only while it is pointed at: a click into it must not frame it again.
  place.tabIndex = -1;
  place.addEventListener("blur", () => place.removeAttribute("tabindex"), { once: true });
  place.focus({ preventScroll: true });
}
