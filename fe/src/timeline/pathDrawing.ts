/** Marks what is on the critical path: a frame around the part of a slice that is, a bar where that is narrow. */
import type { TimelineSlicePayload } from "../generated/schema";
import { sliceRect, type Scene } from "./scene";

const FRAME_PX = 2;
/** Of narrower ones a frame would hide the slice. */
const MIN_FRAME_PX = 6;
const BAR_PX = 4;

export function drawPath(context: CanvasRenderingContext2D, scene: Scene, pieces: readonly TimelineSlicePayload[]): void {
  context.fillStyle = context.strokeStyle = scene.palette.accent;
  context.lineWidth = FRAME_PX;
  for (const piece of pieces) {
    const rect = sliceRect(scene, piece);
    if (rect === null || rect.right < 0 || rect.left > scene.widthPx) continue;
    const left = Math.max(rect.left, -FRAME_PX);
    const width = Math.min(rect.right, scene.widthPx + FRAME_PX) - left;
    if (width < MIN_FRAME_PX) context.fillRect(left, rect.top, Math.max(width, 1), BAR_PX);
    else context.strokeRect(left + FRAME_PX / 2, rect.top + FRAME_PX / 2, width - FRAME_PX, rect.height - FRAME_PX);
  }
}
