/** Saves charts that consist of page elements as PNG: labelled boxes on a background. */
import { saveUrl } from "../lib/download";
import { shortenMiddle } from "../lib/shorten";
import { chartColors } from "./colors";

export interface PictureBox {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly fill: string;
  /** Label of the box, shortened to fit. */
  readonly text?: string;
  readonly textColor?: string;
}

export interface Picture {
  readonly title: string;
  readonly width: number;
  readonly height: number;
  readonly boxes: readonly PictureBox[];
}

const MARGIN_PX = 16;
const TITLE_PX = 28;
const PIXELS_PER_PX = 2;
const TEXT_PADDING_PX = 4;

export function savePicture(fileName: string, picture: Picture): void {
  const canvas = document.createElement("canvas");
  canvas.width = (picture.width + 2 * MARGIN_PX) * PIXELS_PER_PX;
  canvas.height = (picture.height + 2 * MARGIN_PX + TITLE_PX) * PIXELS_PER_PX;
  const context = canvas.getContext("2d");
  if (context === null) return;
  const colors = chartColors();
  context.scale(PIXELS_PER_PX, PIXELS_PER_PX);
  context.fillStyle = colors.surface;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.textBaseline = "middle";
  context.fillStyle = colors.text;
  context.font = "600 14px system-ui, sans-serif";
  context.fillText(picture.title, MARGIN_PX, MARGIN_PX + TITLE_PX / 2 - TEXT_PADDING_PX);
  context.font = "12px system-ui, sans-serif";
  context.translate(MARGIN_PX, MARGIN_PX + TITLE_PX);
  for (const box of picture.boxes) drawBox(context, box, colors.text);
  saveUrl(`${fileName}.png`, canvas.toDataURL("image/png"));
}

function drawBox(context: CanvasRenderingContext2D, box: PictureBox, textColor: string): void {
  context.fillStyle = box.fill;
  context.fillRect(box.x, box.y, box.width, box.height);
  if (box.text === undefined) return;
  const text = fitted(context, box.text, box.width - 2 * TEXT_PADDING_PX);
  context.fillStyle = box.textColor ?? textColor;
  context.fillText(text, box.x + TEXT_PADDING_PX, box.y + box.height / 2);
}

function fitted(context: CanvasRenderingContext2D, text: string, room: number): string {
  const width = context.measureText(text).width;
  if (width <= room) return text;
  const characters = Math.floor((text.length * room) / width) - 1;
  return characters < 3 ? "" : shortenMiddle(text, characters);
}
