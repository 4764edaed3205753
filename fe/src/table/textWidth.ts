/** Measures text, and shortens it to a width. */
import { shortenMiddle, shortenPath } from "../lib/shorten";

export const CELL_PADDING_PX = 16;
/** Width of bold text relative to regular text. */
export const BOLD = 1.1;
const MIN_CHARACTERS = 4;

/** For measuring text in the font of the page; created once. */
let canvas: CanvasRenderingContext2D | null = null;
const FALLBACK_PX = 7;

export function textPx(text: string): number {
  if (typeof document === "undefined") return text.length * FALLBACK_PX;
  if (canvas === null) {
    canvas = document.createElement("canvas").getContext("2d");
    if (canvas === null) return text.length * FALLBACK_PX;
    const { fontSize, fontFamily } = getComputedStyle(document.body);
    canvas.font = `${fontSize} ${fontFamily}`;
  }
  return canvas.measureText(text).width;
}

const TYPICAL_NAME = "void at::native::vectorized_elementwise_kernel<4, at::native::BUnaryFunctor<float>>";
let measuredPx: number | null = null;

/** The mean width of a character of a kernel name. */
export function characterPx(): number {
  measuredPx ??= textPx(TYPICAL_NAME) / TYPICAL_NAME.length;
  return measuredPx;
}

/** `text` shortened until it fits into a cell of this width: a path by its parts, others in the middle. */
export function fitText(text: string, widthPx: number): string {
  const room = widthPx - CELL_PADDING_PX;
  let shown = text;
  let px = textPx(shown);
  // The first guess is nearly right; fewer characters compensate wide letters.
  for (let length = shown.length; px > room && length > MIN_CHARACTERS; length = shown.length) {
    shown = (text.startsWith("/") ? shortenPath : shortenMiddle)(text, Math.max(MIN_CHARACTERS, Math.min(length - 1, Math.floor((length * room) / px))));
    px = textPx(shown);
  }
  return shown;
}
