/** The area of the panels: as high as they need, or as the user dragged it. Enter on the tracks moves the focus here, Escape back. */
import { useEffect, useLayoutEffect, useRef, useState, type ReactNode, type RefObject } from "react";

import { PANEL_HEIGHT, useSize } from "./sizes";
import { Splitter } from "./Splitter";

/** CSS selector of it. */
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
  /** The last element focused by keyboard; after a mouse click the keys stay with the tracks. */
  const focused = useRef<Element | null>(null);
  useLayoutEffect(() => {
    const element = slot.current;
    if (element === null) return;
    // A link to another slice disappears with its panel: Tab then continues from here, not from the top of the page.
    const content = new MutationObserver(() => {
      if (focused.current?.isConnected === false && document.activeElement === document.body) element.focus({ preventScroll: true });
    });
    content.observe(element, { childList: true, subtree: true });
    const size = new ResizeObserver(() => setShownPx(element.offsetHeight));
    size.observe(element);
    // A button that closes the panel disappears with it: the focus returns to the tracks.
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
        aria-label="Selection details"
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
