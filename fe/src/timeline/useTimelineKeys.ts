/** Keys of the timeline. Handled before the frame's own, since `/` and `?` mean this page while it is open. */
import { useEffect, useRef } from "react";

import { isTyping } from "../ui/isTyping";
import { commandOf, motionOf, type Command } from "./keys";
import { PANEL } from "./PanelSlot";
import type { Stage } from "./stage";

/** CSS selector of a button with its open menu (`Popover`), which Escape closes first. */
const OPEN_MENU = ".anchor:has(> .popover)";

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
      else if (command !== "clear" || !closeMenu()) latest.current.onCommand(command);
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

/** Keys that controls on the page handle themselves; null is every key. */
const CONTROL_KEYS: readonly (readonly [string, RegExp | null])[] = [
  [`${OPEN_MENU}, [role=grid], [role=treegrid]`, null],
  [".tl-heads-view", /^(Arrow.*|Home|End|p)$/],
  ["[role=separator]", /^(Arrow.*|Home|End)$/],
  [PANEL, /^(ArrowUp|ArrowDown|PageUp|PageDown|Enter|Escape)$/],
  // Enter activates a button; the stage is not one.
  ["button, a, summary", /^Enter$/],
];

function belongsToControl({ target, key }: KeyboardEvent): boolean {
  return target instanceof HTMLElement && CONTROL_KEYS.some(([selector, keys]) => target.closest(selector) !== null && (keys === null || keys.test(key)));
}

/**
 * Closes the open menu when the focus is elsewhere: a menu gets Escape only while it has the focus.
 *
 * @returns Whether a menu was open.
 */
function closeMenu(): boolean {
  const button = document.querySelector<HTMLButtonElement>(`${OPEN_MENU} > button`);
  button?.click();
  button?.focus();
  return button !== null;
}
