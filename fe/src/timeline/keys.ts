/** What a key does on the timeline; the names are also what the help lists. */

/** Keys that act as long as they are held. */
export type Motion = "zoomIn" | "zoomOut" | "panLeft" | "panRight";

export type Command =
  | "fit"
  | "whole"
  | "mark"
  | "search"
  | "nextHit"
  | "previousHit"
  | "nextSame"
  | "previousSame"
  | "left"
  | "right"
  | "up"
  | "down"
  | "clear"
  | "scrollUp"
  | "scrollDown";

const MOTIONS: Readonly<Record<string, Motion>> = { w: "zoomIn", s: "zoomOut", a: "panLeft", d: "panRight" };

const COMMANDS: Readonly<Record<string, Command>> = {
  f: "fit",
  "0": "whole",
  m: "mark",
  "/": "search",
  n: "nextHit",
  N: "previousHit",
  "]": "nextSame",
  "[": "previousSame",
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "up",
  ArrowDown: "down",
  PageUp: "scrollUp",
  PageDown: "scrollDown",
  Escape: "clear",
};

export const KEY_HELP: readonly (readonly [string, string])[] = [
  ["w  s", "zoom in and out under the pointer; also Ctrl + wheel, or pinch"],
  ["a  d", "move left and right; also Shift + drag, Shift + wheel"],
  ["f", "fit the selected slice or range; 0: the whole trace"],
  ["m", "mark the selected slice as a range"],
  ["/", "search, =name for exactly that name;  n and N: next and previous hit"],
  ["[  ]", "previous and next slice of the same name"],
  ["← → ↑ ↓", "neighbour, parent and child of the selected slice"],
  ["drag", "choose a range, over the ruler or the tracks"],
  ["Esc", "close what is open, then clear what is selected"],
];

interface Pressed {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
}

export function motionOf({ key, ctrlKey, metaKey, altKey }: Pressed): Motion | null {
  if (ctrlKey || metaKey || altKey) return null;
  return MOTIONS[key.toLowerCase()] ?? null;
}

export function commandOf({ key, ctrlKey, metaKey, altKey }: Pressed): Command | null {
  if (ctrlKey || metaKey || altKey) return null;
  return COMMANDS[key] ?? COMMANDS[key.toLowerCase()] ?? null;
}
