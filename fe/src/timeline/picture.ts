/** The timeline as it is seen, as a PNG: both layers and the names of the tracks. */
import { LABEL_FONT } from "./labels";
import { HEAD_PX, rowTopPx } from "./scene";
import type { Stage } from "./stage";

/** Width of the column of names in the picture, as on the page. */
const HEADERS_PX = 220;
const TEXT_PX = 12;

export function timelinePicture(stage: Stage, title: string): Promise<Blob | null> {
  const { rects, overlay, ratio, palette } = stage.layers();
  const canvas = document.createElement("canvas");
  canvas.width = Math.round((stage.width + HEADERS_PX) * ratio);
  canvas.height = Math.round(stage.height * ratio);
  const context = canvas.getContext("2d");
  if (context === null) return Promise.resolve(null);
  context.fillStyle = palette.surface;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(rects, HEADERS_PX * ratio, HEAD_PX * ratio);
  context.drawImage(overlay, HEADERS_PX * ratio, 0);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  drawHeaders(context, stage, title);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

function drawHeaders(context: CanvasRenderingContext2D, stage: Stage, title: string): void {
  const { palette } = stage.layers();
  context.font = LABEL_FONT;
  context.textBaseline = "top";
  context.fillStyle = palette.soft;
  context.fillText(title, 6, 12, HEADERS_PX - TEXT_PX);
  context.beginPath();
  context.rect(0, HEAD_PX, HEADERS_PX, stage.height);
  context.clip();
  for (const row of stage.layout.rows.toReversed()) {
    const top = rowTopPx(stage, row);
    if (top > stage.height || top + row.heightPx < HEAD_PX) continue;
    // Pinned rows, drawn last, lie over what is scrolled below them.
    context.fillStyle = palette.surface;
    context.fillRect(0, top, HEADERS_PX, row.heightPx);
    context.fillStyle = palette.line;
    context.fillRect(0, top + row.heightPx - 1, HEADERS_PX, 1);
    context.fillStyle = palette.text;
    context.fillText(row.kind === "group" ? row.group.title : row.track.title, row.kind === "group" ? 6 : 16, top + 6, HEADERS_PX - TEXT_PX * 2);
  }
}
