/** Whether the window is a phone's: the same width as in `phone.css`. */
import { useSyncExternalStore } from "react";

const NARROW = window.matchMedia("(width < 700px)");

export function useIsNarrow(): boolean {
  return useSyncExternalStore(subscribe, () => NARROW.matches);
}

function subscribe(listener: () => void): () => void {
  NARROW.addEventListener("change", listener);
  return () => NARROW.removeEventListener("change", listener);
}
