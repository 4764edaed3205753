/** Makes the canvases: the best renderer the browser has, and sizes in device pixels. */
import { canvasRenderer } from "./canvas2d";
import type { RectRenderer } from "./rects";
import { webglRenderer } from "./webgl";

export interface RectSurface {
  readonly canvas: HTMLCanvasElement;
  readonly renderer: RectRenderer;
}

/** The renderer that is wanted; null takes the fastest. */
export type RendererChoice = "webgl" | "2d" | null;

/** @throws Error where there is no canvas at all. */
export function createRectSurface(choice: RendererChoice): RectSurface {
  const canvas = document.createElement("canvas");
  const fast = choice === "2d" ? null : webglRenderer(canvas, choice === "webgl");
  if (fast !== null) return labelled(canvas, fast, "webgl");
  // A canvas that has once given a WebGL context gives no other.
  const other = document.createElement("canvas");
  const slow = canvasRenderer(other);
  if (slow === null) throw new Error("This browser cannot draw on a canvas.");
  return labelled(other, slow, "2d");
}

function labelled(canvas: HTMLCanvasElement, renderer: RectRenderer, kind: string): RectSurface {
  canvas.className = "tl-rects";
  canvas.dataset["renderer"] = kind;
  return { canvas, renderer };
}

/** @param ratio Device pixels of a CSS pixel. */
export function setSize(canvas: HTMLCanvasElement, widthPx: number, heightPx: number, ratio: number): void {
  canvas.width = Math.round(widthPx * ratio);
  canvas.height = Math.round(heightPx * ratio);
  canvas.style.width = `${widthPx}px`;
  canvas.style.height = `${heightPx}px`;
}

const MAX_RATIO = 2;

/** More device pixels than this cost time and are not seen. */
export function pixelRatio(): number {
  return Math.min(window.devicePixelRatio || 1, MAX_RATIO);
}
