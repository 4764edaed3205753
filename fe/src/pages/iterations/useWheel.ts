/** Calls `onTurn` for every turn of the wheel over an element, which then does not scroll the page. */
import { useEffect, useRef, type RefObject } from "react";

export function useWheel<T extends HTMLElement>(onTurn: (by: 1 | -1) => void): RefObject<T | null> {
  const element = useRef<T>(null);
  const latest = useRef(onTurn);
  useEffect(() => {
    latest.current = onTurn;
  });
  useEffect(() => {
    const target = element.current;
    if (target === null) return;
    const onWheel = (event: WheelEvent) => {
      if (event.ctrlKey || event.deltaY === 0) return;
      event.preventDefault();
      latest.current(event.deltaY < 0 ? 1 : -1);
    };
    // React's listeners are passive and cannot prevent scrolling.
    target.addEventListener("wheel", onWheel, { passive: false });
    return () => target.removeEventListener("wheel", onWheel);
  }, []);
  return element;
}
