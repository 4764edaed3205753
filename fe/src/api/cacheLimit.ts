/** A limit on the memory of cached answers that no page shows: the least recently shown go first. */
import type { Query, QueryClient } from "@tanstack/react-query";

/** Estimated bytes of an object or string without its content, and of a number. */
const OBJECT_BYTES = 16;
const NUMBER_BYTES = 8;

/** Removes unused answers from the cache as soon as they exceed `maxBytes` together, by estimated size. */
export function limitCache(client: QueryClient, maxBytes: number): void {
  const cache = client.getQueryCache();
  const unusedBytes = new Map<Query, number>();
  let bytes = 0;
  const drop = (query: Query) => {
    bytes -= unusedBytes.get(query) ?? 0;
    unusedBytes.delete(query);
  };
  cache.subscribe((event) => {
    const { type } = event;
    const query = event.query as Query;
    if (type === "observerAdded" || type === "removed") drop(query);
    if (type !== "observerRemoved" || query.getObserversCount() > 0 || query.gcTime === Infinity) return;
    drop(query);
    const queryBytes = sizeBytes(query.state.data, maxBytes);
    unusedBytes.set(query, queryBytes);
    bytes += queryBytes;
    for (const oldest of unusedBytes.keys()) {
      if (bytes <= maxBytes) break;
      cache.remove(oldest);
    }
  });
}

/** Estimated size of a JSON value in memory; counting stops just above `maxBytes`. */
export function sizeBytes(value: unknown, maxBytes: number): number {
  if (typeof value === "string") return OBJECT_BYTES + value.length;
  if (typeof value !== "object" || value === null) return NUMBER_BYTES;
  let bytes = OBJECT_BYTES;
  for (const part of Array.isArray(value) ? (value as unknown[]) : Object.values(value)) {
    bytes += sizeBytes(part, maxBytes - bytes);
    if (bytes > maxBytes) break;
  }
  return bytes;
}
