/** What the files behind a question are at the moment: a rewritten file has other answers. */
import type { Query } from "./client";
import type { Runs, Span } from "./types";

export interface FileState {
  /** Another text when an answer may be another: part of the key of every answer. */
  readonly key: string;
  /** When files that failed for something that may be over are worth another question; null when none did. */
  readonly retryS: number | null;
}

/** The parameters that name traces: the trace itself, and the one it is compared with. */
const SIDES = ["", "baseline_"];

/** The state of the files that `query` is about, as `/runs` tells it. */
export function fileState(runs: Runs, query: Query): FileState {
  const spans = SIDES.flatMap((side) => spansOf(runs, query, side));
  const retries = spans.flatMap(({ state, retry_s }) => (state === "failed" && retry_s !== null ? [retry_s] : []));
  return { key: digest(spans.map(spanKey).join("\n")), retryS: retries.length === 0 ? null : Math.min(...retries) };
}

/** A failed file may be read the next time: what was said without it is then another answer. */
function spanKey({ file, size_bytes, version, state, retry_s }: Span): string {
  const failure = state === "failed" ? (retry_s === null ? " failed" : " failed for now") : "";
  return `${file} ${size_bytes} ${version}${failure}`;
}

function spansOf(runs: Runs, query: Query, side: string): Span[] {
  const named = (key: string, name: string) => query[`${side}${key}`] == null || query[`${side}${key}`] === name;
  if (query[`${side}run`] == null) return [];
  return runs.runs
    .filter(({ name }) => named("run", name))
    .flatMap(({ workers }) => workers)
    .filter(({ name }) => named("worker", name))
    .flatMap(({ spans }) => spans)
    .filter(({ name }) => named("span", name));
}

/** A short text for a long one: a run may have thousands of files. FNV-1a, twice 32 bits. */
function digest(text: string): string {
  let [low, high] = [0x811c9dc5, 0x9e3779b9];
  for (let place = 0; place < text.length; place++) {
    const unit = text.charCodeAt(place);
    low = Math.imul(low ^ unit, 0x01000193);
    high = Math.imul(high ^ unit, 0x85ebca6b);
  }
  return (low >>> 0).toString(36) + (high >>> 0).toString(36);
}
