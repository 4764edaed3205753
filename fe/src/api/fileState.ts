/** The state of the files that a request is about: a rewritten file gives other answers. */
import type { Query } from "./client";
import type { Runs, Span } from "./types";

export interface FileState {
  /** Changes whenever an answer may change: part of the cache key of every answer. */
  readonly key: string;
  /** Seconds until files with a temporary failure are worth a retry; null when there are none. */
  readonly retryS: number | null;
}

/** Prefixes of the parameters that name a trace: the trace itself, and its baseline. */
const SIDES = ["", "baseline_"];

/** The state of the files that `query` is about, from the answer of `/runs`. */
export function fileState(runs: Runs, query: Query): FileState {
  const spans = SIDES.flatMap((side) => spansOf(runs, query, side));
  const retries = spans.flatMap(({ state, retry_s }) => (state === "failed" && retry_s !== null ? [retry_s] : []));
  return { key: digest(spans.map(spanKey).join("\n")), retryS: retries.length === 0 ? null : Math.min(...retries) };
}

/** A failed file may be readable next time, which changes the answers: so failures are part of the key. */
function spanKey({ file, size_bytes, version, state, retry_s }: Span): string {
  const failure = state === "failed" ? (retry_s === null ? " failed" : " failed for now") : "";
  return `${file} ${size_bytes} ${version}${failure}`;
}

function spansOf(runs: Runs, query: Query, side: string): Span[] {
  const matches = (key: string, name: string) => query[`${side}${key}`] == null || query[`${side}${key}`] === name;
  if (query[`${side}run`] == null) return [];
  return runs.runs
    .filter(({ name }) => matches("run", name))
    .flatMap(({ workers }) => workers)
    .filter(({ name }) => matches("worker", name))
    .flatMap(({ spans }) => spans)
    .filter(({ name }) => matches("span", name));
}

/** A short key of a long text, as a run may have thousands of files: FNV-1a, twice 32 bits. */
function digest(text: string): string {
  let [low, high] = [0x811c9dc5, 0x9e3779b9];
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    low = Math.imul(low ^ unit, 0x01000193);
    high = Math.imul(high ^ unit, 0x85ebca6b);
  }
  return (low >>> 0).toString(36) + (high >>> 0).toString(36);
}
