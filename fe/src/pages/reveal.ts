/** Scrolls to the table that a link names (`table=` in the address), once per visit or click. */
import { useEffect, useRef, useSyncExternalStore } from "react";

import { useParams } from "../state/urlStore";

let requests = 0;
const listeners = new Set<() => void>();

/** Scrolls again, for a click on a link that does not change the address. */
export function requestReveal(): void {
  requests += 1;
  for (const listener of listeners) listener();
}

/** @param ready Whether the tables of the view are drawn for this address. */
export function useReveal(ready: boolean): void {
  const { table } = useParams() as Record<string, string | undefined>;
  const now = useSyncExternalStore(subscribe, () => requests);
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
  const element = document.querySelector<HTMLElement>(`[data-table="${CSS.escape(table)}"]`);
  if (element === null) return;
  element.scrollIntoView({ block: "start" });
  // Focusable only while it is revealed: a later click into it must not focus it.
  element.tabIndex = -1;
  element.addEventListener("blur", () => element.removeAttribute("tabindex"), { once: true });
  element.focus({ preventScroll: true });
}
