/** Draws the rectangles where WebGL2 is missing; the same picture, a little slower. */
import { mix } from "./colors";
import { DIMMED, GAP_FROM_PX, IDLE_TINT, MIN_WIDTH_PX, type RectDraw, type RectRenderer, type Rgb } from "./rects";

export function canvasRenderer(canvas: HTMLCanvasElement): RectRenderer | null {
  const context = canvas.getContext("2d", { alpha: false });
  return context === null ? null : new CanvasRects(context);
}

function css([red, green, blue]: Rgb): string {
  return `rgb(${red},${green},${blue})`;
}

class CanvasRects implements RectRenderer {
  private background: Rgb = [255, 255, 255];
  private height = 0;
  /** CSS texts of colours, cached: building them is most of the work. */
  private readonly styles = new Map<number, { full: string; idle: string }>();

  constructor(private readonly context: CanvasRenderingContext2D) {}

  begin(widthPx: number, heightPx: number, ratio: number, background: Rgb): void {
    if (css(background) !== css(this.background)) this.styles.clear();
    this.background = background;
    this.height = heightPx;
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.context.fillStyle = css(background);
    this.context.fillRect(0, 0, widthPx, heightPx);
  }

  draw({ batch, scalePx, offsetPx, topPx, clip }: RectDraw): void {
    const { context } = this;
    const { coordinates, paints, marks } = batch;
    const bottomPx = Math.min(clip.bottomPx, this.height);
    for (let index = 0; index < batch.count; index++) {
      const at = index * 4;
      // On whole pixels: neighbours that share one would leave a seam in it.
      const left = Math.round((coordinates[at] ?? 0) * scalePx + offsetPx);
      let width = Math.max(Math.round((coordinates[at + 1] ?? 0) * scalePx + offsetPx) - left, MIN_WIDTH_PX);
      if (left > clip.rightPx || left + width < clip.leftPx) continue;
      if (width > GAP_FROM_PX && paints[at + 3] === 255) width -= 1;
      const top = topPx + (coordinates[at + 2] ?? 0);
      const height = (coordinates[at + 3] ?? 0) - (coordinates[at + 2] ?? 0);
      if (top >= bottomPx || top + height <= clip.topPx) continue;
      const dimmed = marks !== null && marks[index] === 0;
      const { full, idle } = this.style(paints, at, dimmed);
      const shownLeft = Math.max(left, clip.leftPx);
      const shownWidth = Math.min(left + width, clip.rightPx) - shownLeft;
      // A lane at the edge of the surface is drawn as far as it is visible, like its label.
      const shownTop = Math.max(top, clip.topPx);
      const shownBottom = Math.min(top + height, bottomPx);
      const level = Math.min(Math.max(top + (height * (255 - (paints[at + 3] ?? 255))) / 255, shownTop), shownBottom);
      if (level > shownTop) {
        context.fillStyle = idle;
        context.fillRect(shownLeft, shownTop, shownWidth, level - shownTop);
      }
      context.fillStyle = full;
      context.fillRect(shownLeft, level, shownWidth, shownBottom - level);
    }
  }

  line(xPx: number, color: Rgb): void {
    this.context.fillStyle = css(color);
    this.context.fillRect(Math.round(xPx), 0, 1, this.height);
  }

  release(): void {
    // Nothing is held per batch.
  }

  dispose(): void {
    this.styles.clear();
  }

  private style(paints: Uint8Array, at: number, dimmed: boolean): { full: string; idle: string } {
    const color: Rgb = [paints[at] ?? 0, paints[at + 1] ?? 0, paints[at + 2] ?? 0];
    const key = (((color[0] * 256 + color[1]) * 256 + color[2]) * 2 + Number(dimmed)) | 0;
    const known = this.styles.get(key);
    if (known !== undefined) return known;
    const shown = dimmed ? mix(this.background, color, DIMMED) : color;
    const style = { full: css(shown), idle: css(mix(this.background, shown, IDLE_TINT)) };
    this.styles.set(key, style);
    return style;
  }
}
