/** Saves charts that consist of page elements as PNG or SVG: labelled boxes on a background. */
import { saveUrl } from "../lib/download";
import { shortenMiddle } from "../lib/shorten";
import { visibleText } from "../lib/visibleText";
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
/** Mean width of a character of SVG text, which cannot be measured. */
const CHARACTER_PX = 6.5;

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

/** The picture as SVG; colours are values, as a file has no theme. */
export function pictureSvg(picture: Picture): string {
  const colors = chartColors();
  const width = picture.width + 2 * MARGIN_PX;
  const height = picture.height + 2 * MARGIN_PX + TITLE_PX;
  const boxes = picture.boxes.map((box) => boxSvg(box, colors.text));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="12">`,
    `<rect width="${width}" height="${height}" fill="${colors.surface}"/>`,
    `<text x="${MARGIN_PX}" y="${MARGIN_PX + TITLE_PX / 2}" font-size="14" font-weight="600" fill="${colors.text}">${escaped(picture.title)}</text>`,
    `<g transform="translate(${MARGIN_PX} ${MARGIN_PX + TITLE_PX})">`,
    ...boxes,
    "</g></svg>",
  ].join("\n");
}

function boxSvg({ x, y, width, height, fill, text, textColor }: PictureBox, color: string): string {
  const shape = `<rect x="${x}" y="${y}" width="${Math.max(0, width)}" height="${height}" fill="${escaped(fill)}"/>`;
  const characters = Math.floor((width - 2 * TEXT_PADDING_PX) / CHARACTER_PX);
  if (text === undefined || characters < 3) return shape;
  const label = escaped(text.length <= characters ? text : shortenMiddle(text, characters));
  return `${shape}<text x="${x + TEXT_PADDING_PX}" y="${y + height / 2 + 4}" fill="${escaped(textColor ?? color)}">${label}</text>`;
}

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** Names of a trace stay text. */
function escaped(text: string): string {
  return visibleText(text).replace(/[&<>"]/g, (character) => ENTITIES[character] ?? character);
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
