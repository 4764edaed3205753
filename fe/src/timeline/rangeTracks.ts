/**
 * Which tracks a range was dragged over, in the address together with `range=`:
 *
 *     over=1200-1300:t1.operators,t4.work      tracks of the worker that is summed up; for that range only
 *
 * Another range, however it was marked, is over all tracks again.
 */
import { formatNumber } from "../lib/format";
import { LEVELS_PREFIX } from "./levels";

/** More would make the address too long; then all are summed up. */
export const MAX_OVER = 200;

const KEY = /^[a-z0-9.]{1,40}$/;

/** Keys of tracks as the server names them; null for all. */
export function parseOver(text: string | undefined, range: string | undefined): readonly string[] | null {
  const [rangeText, keys] = (text ?? "").split(":");
  if (range === undefined || rangeText !== range) return null;
  const known = [...new Set((keys ?? "").split(","))].filter((key) => KEY.test(key));
  return known.length === 0 || known.length > MAX_OVER ? null : known;
}

/**
 * The tracks that a drag went over, as the server names them; null for all.
 *
 * @param onScreen Keys on screen; null where the drag was over no track.
 * @param prefix Before the keys of the worker that is summed up.
 * @param all How many tracks that worker has.
 */
export function tracksOver(onScreen: readonly string[] | null, prefix: string, all: number): readonly string[] | null {
  const isOfWorker = (key: string) => key.startsWith(prefix) && !key.startsWith(prefix + LEVELS_PREFIX);
  // Tracks of levels draw again what others have.
  const workerTracks = (onScreen ?? []).filter(isOfWorker).map((key) => key.slice(prefix.length));
  return workerTracks.length === 0 || workerTracks.length >= all || workerTracks.length > MAX_OVER ? null : workerTracks;
}

/** Their text in the address. */
export function formatOver(range: string, over: readonly string[] | null): string | null {
  return over === null ? null : `${range}:${over.join(",")}`;
}

/** Their keys on screen. */
export function keysOnScreen(over: readonly string[] | null, prefix: string): ReadonlySet<string> | null {
  return over === null ? null : new Set(over.map((key) => `${prefix}${key}`));
}

/** "3 tracks of 41", "all 41 tracks". */
export function tracksText(over: readonly string[] | null, all: number): string {
  if (over === null) return `all ${formatNumber(all)} tracks`;
  return `${formatNumber(over.length)} ${over.length === 1 ? "track" : "tracks"} of ${formatNumber(all)}`;
}
