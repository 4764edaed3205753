/**
 * The wheel scrolls the page, also over a table, unless the table was clicked: then it scrolls the table. Otherwise a page
 * with tables could not be scrolled through without being caught by one.
 */
import { useEffect, type RefObject } from "react";

/** Height of a line in px, where the wheel counts lines. */
const LINE_PX = 20;

/** Attaches the listener; React's own are passive and cannot pass the wheel on. */
export function usePageWheel(scroller: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const onWheel = (event: WheelEvent) => passOn(event, element);
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  }, [scroller]);
}

function passOn(event: WheelEvent, table: HTMLElement): void {
  const isVertical = Math.abs(event.deltaY) > Math.abs(event.deltaX);
  if (event.defaultPrevented || event.ctrlKey || event.shiftKey || !isVertical || isEntered(table)) return;
  const target = outerScroller(table);
  if (target === null) return;
  event.preventDefault();
  target.scrollBy({ top: wheelPx(event, target), behavior: "instant" });
}

function isEntered(table: HTMLElement): boolean {
  return table.contains(document.activeElement);
}

/** The table around this one, if that was clicked, else what scrolls the page or the dialog. */
function outerScroller(table: HTMLElement): HTMLElement | null {
  for (let element = table.parentElement; element !== null; element = element.parentElement) {
    const isTable = element.classList.contains("grid-scroll");
    if (isTable ? isEntered(element) : isScrollable(element)) return element;
  }
  return null;
}

function isScrollable(element: HTMLElement): boolean {
  return element.scrollHeight > element.clientHeight && /auto|scroll/.test(getComputedStyle(element).overflowY);
}

export function wheelPx({ deltaY, deltaMode }: Pick<WheelEvent, "deltaY" | "deltaMode">, { clientHeight }: { readonly clientHeight: number }): number {
  if (deltaMode === 1) return deltaY * LINE_PX;
  return deltaMode === 2 ? deltaY * clientHeight : deltaY;
}
