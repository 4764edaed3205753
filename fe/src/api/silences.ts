/** What does not answer: a place of traces, or our own server; since when, and when it is asked again. */
import type { Failure, Runs } from "./types";

/** Times are those of `Date.now()` here: the server's clock may be another. */
export interface Silence {
  /** The place; null is our own server. */
  readonly place: string | null;
  readonly sinceMs: number;
  /** In the past while it is being asked. */
  readonly nextTryMs: number;
  readonly cause: string;
}

/** Answers tell times in tenths of a second and travel for a while: what differs by less is the same. */
const SAME_MS = 2500;

/** The silent places of an answer that came now. What was said `before` stays where it is about the same. */
export function silencesOf(runs: Runs, nowMs: number, before: readonly Silence[]): readonly Silence[] {
  return runs.silent_places.map(({ place, silent_s, next_try_s, error }) => {
    const old = before.find((silence) => silence.place === place);
    const next = { place, sinceMs: nowMs - 1000 * silent_s, nextTryMs: nowMs + 1000 * next_try_s, cause: error.message };
    if (old === undefined || Math.abs(old.sinceMs - next.sinceMs) > SAME_MS) return next;
    const nextTryMs = Math.abs(old.nextTryMs - next.nextTryMs) > SAME_MS ? next.nextTryMs : old.nextTryMs;
    return { ...next, sinceMs: old.sinceMs, nextTryMs };
  });
}

/** Our own server did not answer now, and is asked again in `waitMs`; `before` is what was said the last time. */
export function serverSilence(failure: Failure, nowMs: number, waitMs: number, before: Silence | null): Silence {
  // That it does not answer is said already.
  const cause = failure.code === "no_answer" ? (failure.hint ?? "") : failure.message;
  return { place: null, sinceMs: before?.sinceMs ?? nowMs, nextTryMs: nowMs + waitMs, cause };
}

/** "No answer from s3://traces since 12:03". */
export function silenceText(silence: Silence, nowMs: number): string {
  return `No answer from ${silence.place ?? "the server"} since ${clockText(silence.sinceMs, nowMs)}`;
}

/** " (2 min). Next try in 8 s." */
export function countdownText(silence: Silence, nowMs: number): string {
  const leftS = Math.ceil((silence.nextTryMs - nowMs) / 1000);
  const next = leftS > 0 ? `Next try in ${leftS} s.` : "It is being asked again.";
  return ` (${lengthText(nowMs - silence.sinceMs)}). ${next}`;
}

function lengthText(ms: number): string {
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
