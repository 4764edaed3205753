/** Where a page was scrolled to, kept with its entry of the history: Back comes back to the same place. */

/** What scrolls; see `App`. */
const SCROLLER = "content";
/** A page is drawn in steps: answers come, tables get their rows. */
const PATIENCE_MS = 2000;

let attempt = 0;

function scroller(): HTMLElement | null {
  return document.getElementById(SCROLLER);
}

/** Before another entry is made of the history. */
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

/** As soon as the page is long enough; not against who scrolls meanwhile. */
export function restoreScroll(state: unknown): void {
  const top = (state as { scrollTop?: unknown } | null)?.scrollTop;
  attempt += 1;
  if (typeof top !== "number") return;
  const [mine, until] = [attempt, performance.now() + PATIENCE_MS];
  const leave = () => (attempt += 1);
  const gestures = ["wheel", "pointerdown", "keydown"] as const;
  for (const gesture of gestures) window.addEventListener(gesture, leave, { once: true, passive: true });
  const step = () => {
    const box = scroller();
    if (mine !== attempt || box === null) return;
    if (box.scrollHeight - box.clientHeight >= top) box.scrollTop = top;
    if (performance.now() < until && Math.abs(box.scrollTop - top) > 1) requestAnimationFrame(step);
    else for (const gesture of gestures) window.removeEventListener(gesture, leave);
  };
  requestAnimationFrame(step);
}
