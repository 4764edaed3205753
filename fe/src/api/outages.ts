/** What does not answer, a storage location of traces or the server itself: since when, and when it is retried. */
import type { Failure, Runs } from "./types";

/** Times are by `Date.now()` of the browser: the server's clock may differ. */
export interface Outage {
  /** Null for the server itself. */
  readonly location: string | null;
  readonly sinceMs: number;
  /** In the past while a retry is running. */
  readonly nextTryMs: number;
  readonly cause: string;
}

/** Answers have tenths of a second and take a while to arrive: smaller differences are no change. */
const JITTER_MS = 2500;

/** The outages in an answer received now. Times of `before` stay where they differ by jitter only. */
export function outagesOf(runs: Runs, nowMs: number, before: readonly Outage[]): readonly Outage[] {
  return runs.silent_places.map(({ place: location, silent_s, next_try_s, error }) => {
    const old = before.find((outage) => outage.location === location);
    const next = { location, sinceMs: nowMs - 1000 * silent_s, nextTryMs: nowMs + 1000 * next_try_s, cause: error.message };
    if (old === undefined || Math.abs(old.sinceMs - next.sinceMs) > JITTER_MS) return next;
    const nextTryMs = Math.abs(old.nextTryMs - next.nextTryMs) > JITTER_MS ? next.nextTryMs : old.nextTryMs;
    return { ...next, sinceMs: old.sinceMs, nextTryMs };
  });
}

/** The server did not answer now and is retried in `waitMs`; `before` is the outage so far. */
export function serverOutage(failure: Failure, nowMs: number, waitMs: number, before: Outage | null): Outage {
  // The text of an outage already says that there is no answer.
  const cause = failure.code === "no_answer" ? (failure.hint ?? "") : failure.message;
  return { location: null, sinceMs: before?.sinceMs ?? nowMs, nextTryMs: nowMs + waitMs, cause };
}

/** "No answer from s3://traces since 12:03". */
export function outageText(outage: Outage, nowMs: number): string {
  return `No answer from ${outage.location ?? "the server"} since ${clockText(outage.sinceMs, nowMs)}`;
}

/** " (2 min). Next try in 8 s." */
export function countdownText(outage: Outage, nowMs: number): string {
  const leftS = Math.ceil((outage.nextTryMs - nowMs) / 1000);
  const next = leftS > 0 ? `Next try in ${leftS} s.` : "Retrying now.";
  return ` (${durationText(nowMs - outage.sinceMs)}). ${next}`;
}

function durationText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function clockText(atMs: number, nowMs: number): string {
  const at = new Date(atMs);
  const time = at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false });
  const isToday = at.toDateString() === new Date(nowMs).toDateString();
  return isToday ? time : `${at.toLocaleDateString()} ${time}`;
}
