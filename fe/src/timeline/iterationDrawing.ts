/** Draws the chosen iterations over the tracks: they are not events, so no track holds them. */
import { marksOnScreen } from "./iterationMarks";
import { LABEL_FONT, LABEL_PADDING_PX } from "./labels";
import { HEAD_PX, type Scene } from "./scene";

const LABEL_HEIGHT_PX = 16;

export function drawIterations(context: CanvasRenderingContext2D, { iterations, viewport, widthPx, heightPx, palette }: Scene): void {
  if (iterations === null) return;
  const marks = marksOnScreen(iterations, viewport, widthPx);
  context.fillStyle = palette.accent;
  for (const { x } of marks) context.fillRect(Math.round(x), HEAD_PX, 1, heightPx);
  context.font = LABEL_FONT;
  context.textBaseline = "middle";
  for (const { x, name } of marks) {
    if (name === null) continue;
    const left = Math.max(0, Math.round(x) + 1);
    context.fillStyle = palette.surface;
    context.fillRect(left, heightPx - LABEL_HEIGHT_PX, context.measureText(name).width + 2 * LABEL_PADDING_PX, LABEL_HEIGHT_PX);
    context.fillStyle = palette.accent;
    context.fillText(name, left + LABEL_PADDING_PX, heightPx - LABEL_HEIGHT_PX / 2);
  }
}
