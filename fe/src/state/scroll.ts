/** The scroll position of a page, stored with its history entry, so that Back restores it. */

/** Id of the scrolling element; see `App`. */
const SCROLLER = "content";
/** A page grows while its answers arrive and its tables get their rows. */
const TIMEOUT_MS = 2000;

let attempt = 0;

function scroller(): HTMLElement | null {
  return document.getElementById(SCROLLER);
}

/** To be called before a history entry is pushed. */
export function rememberScroll(): void {
  const top = Math.round(scroller()?.scrollTop ?? 0);
  const { pathname, search, hash } = window.location;
  window.history.replaceState({ scrollTop: top }, "", pathname + search + hash);
}

export function scrollToTop(): void {
  attempt += 1;
  const box = scroller();
  if (box !== null) box.scrollTop = 0;
}

/** Restores as soon as the page is long enough, unless the user scrolls meanwhile. */
export function restoreScroll(state: unknown): void {
  const top = (state as { scrollTop?: unknown } | null)?.scrollTop;
  attempt += 1;
  if (typeof top !== "number") return;
  const [thisAttempt, until] = [attempt, performance.now() + TIMEOUT_MS];
  const cancel = () => (attempt += 1);
  const gestures = ["wheel", "pointerdown", "keydown"] as const;
  for (const gesture of gestures) window.addEventListener(gesture, cancel, { once: true, passive: true });
  const step = () => {
    const box = scroller();
    if (thisAttempt !== attempt || box === null) return;
    if (box.scrollHeight - box.clientHeight >= top) box.scrollTop = top;
    if (performance.now() < until && Math.abs(box.scrollTop - top) > 1) requestAnimationFrame(step);
    else for (const gesture of gestures) window.removeEventListener(gesture, cancel);
  };
  requestAnimationFrame(step);
}
