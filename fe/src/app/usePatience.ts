/** Whether something has taken so long that it is worth a word: what only flashes is noise. */
import { useEffect, useState } from "react";

/** What is answered sooner seems to come at once. */
export const PATIENCE_MS = 100;

export function usePatience(): boolean {
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setOver(true), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, []);
  return isOver;
}
