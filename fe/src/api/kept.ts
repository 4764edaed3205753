/** How much is kept of answers that no page shows: what was left first is forgotten first. */
import type { Query, QueryClient } from "@tanstack/react-query";

/** Of an object or a string, beside what it holds; of a number. */
const HEAD_BYTES = 16;
const NUMBER_BYTES = 8;

/** Forgets unshown answers from now on as soon as they are larger than `mostBytes` together, as far as is known. */
export function boundKept(client: QueryClient, mostBytes: number): void {
  const cache = client.getQueryCache();
  const unshown = new Map<Query, number>();
  let bytes = 0;
  const drop = (query: Query) => {
    bytes -= unshown.get(query) ?? 0;
    unshown.delete(query);
  };
  cache.subscribe((event) => {
    const { type } = event;
    const query = event.query as Query;
    if (type === "observerAdded" || type === "removed") drop(query);
    if (type !== "observerRemoved" || query.getObserversCount() > 0 || query.gcTime === Infinity) return;
    drop(query);
    const own = sizeBytes(query.state.data, mostBytes);
    unshown.set(query, own);
    bytes += own;
    for (const oldest of unshown.keys()) {
      if (bytes <= mostBytes) break;
      cache.remove(oldest);
    }
  });
}

/** About how large a JSON value is in memory; it is not counted further than just above `mostBytes`. */
export function sizeBytes(value: unknown, mostBytes: number): number {
  if (typeof value === "string") return HEAD_BYTES + value.length;
  if (typeof value !== "object" || value === null) return NUMBER_BYTES;
  let bytes = HEAD_BYTES;
  for (const part of Array.isArray(value) ? (value as unknown[]) : Object.values(value)) {
    bytes += sizeBytes(part, mostBytes - bytes);
    if (bytes > mostBytes) break;
  }
  return bytes;
}
