/**
 * Passes a trace to Perfetto's own page, in the user's browser only, as that page documents it
 * (https://perfetto.dev/docs/visualization/deep-linking-to-perfetto-ui):
 *
 *     this page                      ui.perfetto.dev
 *        window.open ───────────────▶  loads
 *        "PING", again and again ───▶
 *        ◀─────────────────────── "PONG"
 *        {perfetto: {buffer, …}} ───▶  shows the trace
 *
 * Messages are sent to that origin only, and only that window's answer is accepted.
 */
export const PERFETTO_ORIGIN = "https://ui.perfetto.dev";

const PING_MS = 100;
/** Perfetto's page is some megabytes; without an answer after this time it is unreachable. */
export const ANSWER_MS = 20_000;

export interface HandedTrace {
  readonly buffer: ArrayBuffer;
  readonly title: string;
  readonly fileName: string;
}

export type HandOver = "handed" | "silent" | "closed";

/** The page in a new tab; null where the browser blocks it. Must be called in the click handler, or the browser blocks it. */
export function openPerfetto(): Window | null {
  return window.open(PERFETTO_ORIGIN, "_blank");
}

/** Waits until the page answers, then passes it the trace. */
export async function handOver(page: Window, trace: HandedTrace, limitMs = ANSWER_MS): Promise<HandOver> {
  const state = await waitForPong(page, limitMs);
  if (state === "handed") page.postMessage({ perfetto: trace }, PERFETTO_ORIGIN);
  return state;
}

function waitForPong(page: Window, limitMs: number): Promise<HandOver> {
  return new Promise((resolve) => {
    const untilMs = performance.now() + limitMs;
    const end = (state: HandOver) => {
      clearInterval(timer);
      window.removeEventListener("message", onMessage);
      resolve(state);
    };
    const onMessage = ({ source, origin, data }: MessageEvent<unknown>) => {
      if (source === page && origin === PERFETTO_ORIGIN && data === "PONG") end("handed");
    };
    const ping = () => {
      if (page.closed) end("closed");
      else if (performance.now() > untilMs) end("silent");
      else page.postMessage("PING", PERFETTO_ORIGIN);
    };
    window.addEventListener("message", onMessage);
    const timer = setInterval(ping, PING_MS);
  });
}
