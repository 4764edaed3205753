/** Keys of the timeline. Caught before the frame's own, since `/` and `?` mean this page while it is open. */
import { useEffect, useRef } from "react";

import { isTyping } from "../ui/isTyping";
import { commandOf, motionOf, type Command } from "./keys";
import { closeMenuElsewhere, OPEN_MENU } from "./menus";
import { PANEL } from "./PanelSlot";
import type { Stage } from "./stage";

interface Handlers {
  readonly onCommand: (command: Command) => void;
  readonly onHelp: () => void;
}

export function useTimelineKeys(stage: Stage | null, handlers: Handlers): void {
  const latest = useRef(handlers);
  useEffect(() => {
    latest.current = handlers;
  });
  useEffect(() => {
    if (stage === null) return;
    let pointerPx = stage.width / 2;
    const onPointer = (event: PointerEvent) => (pointerPx = event.offsetX);
    const onDown = (event: KeyboardEvent) => {
      if (isTyping(event.target) || document.querySelector("dialog[open]") !== null) return;
      const motion = motionOf(event);
      const command = commandOf(event);
      if (motion !== null) stage.startMotion(motion, pointerPx);
      else if (event.key === "?") latest.current.onHelp();
      else if (command === null || belongsToControl(event)) return;
      else if (command !== "clear" || !closeMenuElsewhere()) latest.current.onCommand(command);
      event.preventDefault();
      event.stopPropagation();
    };
    const onUp = (event: KeyboardEvent) => {
      const motion = motionOf({ key: event.key, ctrlKey: false, metaKey: false, altKey: false });
      if (motion !== null) stage.endMotion(motion);
    };
    const onBlur = () => stage.endMotion(null);
    stage.surface.addEventListener("pointermove", onPointer);
    window.addEventListener("keydown", onDown, true);
    window.addEventListener("keyup", onUp, true);
    window.addEventListener("blur", onBlur);
    return () => {
      stage.surface.removeEventListener("pointermove", onPointer);
      window.removeEventListener("keydown", onDown, true);
      window.removeEventListener("keyup", onUp, true);
      window.removeEventListener("blur", onBlur);
    };
  }, [stage]);
}

/** Keys that parts of the page have a use of their own for; null is every key. */
const OWN_KEYS: readonly (readonly [string, RegExp | null])[] = [
  [`${OPEN_MENU}, [role=grid], [role=treegrid]`, null],
  [".tl-heads-view", /^(Arrow.*|Home|End|p)$/],
  ["[role=separator]", /^(Arrow.*|Home|End)$/],
  [PANEL, /^(ArrowUp|ArrowDown|PageUp|PageDown|Enter|Escape)$/],
  // What a button does with it is its own; the stage is none.
  ["button, a, summary", /^Enter$/],
];

function belongsToControl({ target, key }: KeyboardEvent): boolean {
  return target instanceof HTMLElement && OWN_KEYS.some(([selector, keys]) => target.closest(selector) !== null && (keys === null || keys.test(key)));
}
