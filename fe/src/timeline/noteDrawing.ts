/** Draws the notes over the tracks: a line at the moment, its number, and as much of its text as there is room for. */
import { LABEL_FONT } from "./labels";
import type { Note } from "./notes";
import { HEAD_PX, type Scene } from "./scene";
import { pxOf } from "./viewport";

const FLAG_PX = 16;
const PADDING_PX = 5;
const MAX_TEXT_PX = 220;

export function drawNotes(context: CanvasRenderingContext2D, { notes, viewport, widthPx, heightPx, palette }: Scene): void {
  if (notes.length === 0) return;
  context.font = LABEL_FONT;
  context.textBaseline = "middle";
  const flags = notes.map((note, index) => ({ note, index, x: Math.round(pxOf(viewport, note.timeNs, widthPx)) })).filter(({ x }) => x >= 0 && x <= widthPx);
  flags.forEach(({ note, index, x }, at) => {
    context.fillStyle = palette.warn;
    for (let y = HEAD_PX; y < heightPx; y += 8) context.fillRect(x, y, 1, 5);
    const room = Math.min(MAX_TEXT_PX, (flags[at + 1]?.x ?? widthPx) - x - 2);
    const text = fitted(context, labelOf(note, index), room - 2 * PADDING_PX) ?? String(index + 1);
    context.fillRect(x, HEAD_PX, context.measureText(text).width + 2 * PADDING_PX, FLAG_PX);
    context.fillStyle = palette.surface;
    context.fillText(text, x + PADDING_PX, HEAD_PX + FLAG_PX / 2);
  });
}

function labelOf({ text }: Note, index: number): string {
  return `${index + 1} ${text}`;
}

/** The text, cut to the room; null where hardly anything of it would be left. */
function fitted(context: CanvasRenderingContext2D, text: string, roomPx: number): string | null {
  if (context.measureText(text).width <= roomPx) return text;
  const length = Math.floor((text.length * roomPx) / context.measureText(text).width) - 1;
  return length < 4 ? null : `${text.slice(0, length)}…`;
}
