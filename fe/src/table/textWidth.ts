/** How wide text is, and text shortened to a width. */
import { shortenMiddle, shortenPath } from "../lib/shorten";

export const CELL_PADDING_PX = 16;
/** How much wider bold text is. */
export const BOLD = 1.1;
const LEAST_CHARACTERS = 4;

/** How wide text is in the page's font; the canvas is made once. */
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
  // The first guess is nearly right; a few characters less make up for wide letters.
  for (let length = shown.length; px > room && length > LEAST_CHARACTERS; length = shown.length) {
    shown = (text.startsWith("/") ? shortenPath : shortenMiddle)(text, Math.max(LEAST_CHARACTERS, Math.min(length - 1, Math.floor((length * room) / px))));
    px = textPx(shown);
  }
  return shown;
}
