/** Reads the stage from React: a component is drawn again only when what it picks has changed. */
import { useCallback, useSyncExternalStore } from "react";

import type { Stage } from "./stage";

const listeners = new WeakMap<Stage, Set<() => void>>();

export function notifyStageListeners(stage: Stage): void {
  for (const listener of listeners.get(stage) ?? []) listener();
}

/** @returns What stops it. */
export function listenToStage(stage: Stage, listener: () => void): () => void {
  const set = listeners.get(stage) ?? new Set();
  listeners.set(stage, set.add(listener));
  return () => void set.delete(listener);
}

const unsubscribe = () => {
  // Without a stage nothing changes.
};

/** @param pick Returns the same value as long as nothing changed: a text, a number, or a stable object. */
export function useStage<S extends Stage | null, T>(stage: S, pick: (stage: S) => T): T {
  const subscribe = useCallback((listener: () => void) => (stage === null ? unsubscribe : listenToStage(stage, listener)), [stage]);
  return useSyncExternalStore(subscribe, () => pick(stage));
}
