/** The run that is marked as baseline of the log directory, remembered in the browser. */
import { useCallback, useState } from "react";

import type { Baseline } from "./baseline";

/** One per server: the page does not know the name of the log directory. */
const KEY = "torch-tb-profiler.baseline";

function storageKey(): string {
  return `${KEY}.${location.pathname}`;
}

/** The marked run; null for none, for a damaged mark, and where the browser stores nothing. */
export function storedBaseline(): Baseline | null {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(storageKey()) ?? "null");
    if (typeof value !== "object" || value === null) return null;
    const { run, worker, span } = value as Record<string, unknown>;
    return typeof run === "string" && typeof worker === "string" && typeof span === "string" ? { run, worker, span } : null;
  } catch {
    return null; // storage can be forbidden inside a frame
  }
}

/** The marked run, and what marks another one; null removes the mark. */
export function useMarkedBaseline(): readonly [Baseline | null, (trace: Baseline | null) => void] {
  const [marked, setMarked] = useState(storedBaseline);
  const mark = useCallback((trace: Baseline | null) => {
    setMarked(trace);
    try {
      if (trace === null) localStorage.removeItem(storageKey());
      else localStorage.setItem(storageKey(), JSON.stringify({ run: trace.run, worker: trace.worker, span: trace.span }));
    } catch {
      // not remembered, but in force
    }
  }, []);
  return [marked, mark];
}
