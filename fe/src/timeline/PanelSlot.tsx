/** Where the panels stand: as high as they need to be, or as the reader dragged it. Enter on the tracks leads here, Escape back. */
import { useEffect, useLayoutEffect, useRef, useState, type ReactNode, type RefObject } from "react";

import { PANEL_HEIGHT, useSize } from "./sizes";
import { Splitter } from "./Splitter";

/** Selects it on the page. */
export const PANEL = ".tl-panel-slot";

interface Props {
  readonly slot: RefObject<HTMLDivElement | null>;
  readonly onLeave: () => void;
  readonly children: ReactNode;
}

export function PanelSlot({ slot, onLeave, children }: Props) {
  const [px, setPx] = useSize(PANEL_HEIGHT);
  const [shownPx, setShownPx] = useState(PANEL_HEIGHT.minPx);
  const leave = useRef(onLeave);
  useEffect(() => {
    leave.current = onLeave;
  });
  /** What the keyboard was on last; what a mouse clicked leaves the keys to the tracks. */
  const focused = useRef<Element | null>(null);
  useLayoutEffect(() => {
    const element = slot.current;
    if (element === null) return;
    // A link to another slice goes with what it stood in: Tab goes on from here, not from the top of the page.
    const content = new MutationObserver(() => {
      if (focused.current?.isConnected === false && document.activeElement === document.body) element.focus({ preventScroll: true });
    });
    content.observe(element, { childList: true, subtree: true });
    const size = new ResizeObserver(() => setShownPx(element.offsetHeight));
    size.observe(element);
    // A button that closes the panel goes with it: the keys are for the tracks again.
    return () => {
      size.disconnect();
      content.disconnect();
      if (element.contains(document.activeElement) || document.activeElement === document.body) leave.current();
    };
  }, [slot]);
  return (
    <>
      <Splitter label="Height of the panel" orientation="horizontal" px={px ?? shownPx} size={PANEL_HEIGHT} onResize={setPx} />
      <div
        ref={slot}
        className="tl-panel-slot"
        tabIndex={-1}
        role="region"
        aria-label="What is selected"
        style={px === null ? undefined : { height: px, maxHeight: "75%" }}
        onFocus={({ target }) => (focused.current = target.matches(":focus-visible") ? target : null)}
        onKeyDown={(event) => {
          if (event.key !== "Escape" || event.defaultPrevented) return;
          event.preventDefault();
          event.stopPropagation();
          onLeave();
        }}
      >
        {children}
      </div>
    </>
  );
}
