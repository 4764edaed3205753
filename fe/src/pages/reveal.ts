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

/** Charts above a table may still get their height. */
const SETTLE_MS = 1500;
const GESTURES = ["wheel", "pointerdown", "keydown"] as const;

function reveal(table: string): void {
  const element = document.querySelector<HTMLElement>(`[data-table="${CSS.escape(table)}"]`);
  if (element === null) return;
  for (let fold = element.closest("details"); fold !== null; fold = fold.parentElement?.closest("details") ?? null) fold.open = true;
  element.querySelector(".grid-scroll")?.scrollTo({ top: 0 });
  keepAtTop(element);
  // Focusable only while it is revealed: a later click into it must not focus it.
  element.tabIndex = -1;
  element.addEventListener("blur", () => element.removeAttribute("tabindex"), { once: true });
  element.focus({ preventScroll: true });
}

/** Scrolls to `element`, and again while what is above it grows, until anything else scrolls or the user does anything. */
function keepAtTop(element: HTMLElement): void {
  const until = performance.now() + SETTLE_MS;
  const scroller = document.getElementById("content");
  let isCancelled = false;
  const cancel = () => {
    isCancelled = true;
    for (const gesture of GESTURES) window.removeEventListener(gesture, cancel);
  };
  for (const gesture of GESTURES) window.addEventListener(gesture, cancel, { once: true, passive: true });
  let scrolled: number | null = null;
  const step = () => {
    const isMoved = scrolled !== null && scroller?.scrollTop !== scrolled;
    if (isCancelled || isMoved || performance.now() > until || !element.isConnected) {
      cancel();
      return;
    }
    element.scrollIntoView({ block: "start" });
    scrolled = scroller?.scrollTop ?? null;
    requestAnimationFrame(step);
  };
  step();
}
