/** The keys of the timeline and the help that lists them. */

/** Keys that act as long as they are held. */
export type Motion = "zoomIn" | "zoomOut" | "panLeft" | "panRight";

export type Command =
  | "fit"
  | "whole"
  | "undo"
  | "redo"
  | "mark"
  | "markScreen"
  | "pin"
  | "panel"
  | "path"
  | "note"
  | "search"
  | "nextHit"
  | "previousHit"
  | "nextSame"
  | "previousSame"
  | "onward"
  | "back"
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
  z: "undo",
  Z: "redo",
  y: "redo",
  m: "mark",
  M: "markScreen",
  p: "pin",
  c: "path",
  t: "note",
  Enter: "panel",
  "/": "search",
  n: "nextHit",
  N: "previousHit",
  "]": "nextSame",
  "[": "previousSame",
  g: "onward",
  G: "back",
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
  ["f", "fit the selected slice or range, as a double click does; 0: the whole trace"],
  ["z", "undo the last zoom, as a double click outside slices does; Shift + z or y: redo"],
  ["m", "mark the selected slice as a range; M: the visible range"],
  ["/", "search, =name for exactly that name;  n and N: next and previous hit"],
  ["[  ]", "previous and next slice of the same name, on all stacked ranks"],
  ["g", "go along the flow: operator or launch → its device work → next in the stream; collective → the same on the next rank. Shift + g: back to the launch, its operator, the forward operator"],
  ["← → ↑ ↓", "the first slice on screen; then the neighbours of the selected one, its parent and child, the next lane"],
  ["PgUp  PgDn", "scroll the tracks"],
  ["Enter", "go to the panel of the selection; Esc: back to the tracks"],
  ["c", "show or hide the critical path of the selected steps (without a selection, of the step of median length)"],
  ["t", "write a note on the selected slice, or at the middle of the screen; notes are in the address"],
  ["p", "pin the track of the selected slice to the top, or unpin it"],
  ["Tab", "go to the names of the tracks: ↑ ↓ previous and next, ← → close and open, Alt + ↑ ↓ move, p pins to the top; they can be dragged"],
  ["drag", "choose a range, over the ruler or the tracks"],
  ["Esc", "close what is open, then clear the selection"],
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
