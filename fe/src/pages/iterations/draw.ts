/** Draws the bars on a canvas, with everything that changes while a handle is dragged. */
import type { ChartColors } from "../../chart/colors";
import { formatNumber } from "../../lib/format";
import { roundStep } from "../../lib/roundStep";
import { shortenMiddle } from "../../lib/shorten";
import { scaleFor } from "../../lib/units";
import { visibleText } from "../../lib/visibleText";
import { barsShown, edgeX, ticksUpTo, type Bars, type Window } from "./bars";
import type { Range } from "./range";

export const PLOT = { left: 64, right: 28, top: 8, bottom: 40 } as const;
const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";
const Y_TICKS = 4;
const X_TICK_PX = 96;
/** Colour of iterations that are not selected. */
export const UNSELECTED = "--iteration-unselected";
/** From this width on, bars have a gap between them. */
const GAP_FROM_PX = 4;
const MAX_BAR_PX = 96;
/** Space between the scale and the bars, for the grip of a handle. */
const SCALE_GAP_PX = 14;
const NAME_CHARACTERS = 12;

export interface Picture {
  readonly bars: Bars;
  readonly window: Window;
  readonly heightPx: number;
  /** The coloured range; null for none. */
  readonly range: Range | null;
  /** Whether an iteration within the range is selected. */
  readonly isSelected: (iteration: number) => boolean;
  /** Index of the chosen iteration, or -1. */
  readonly chosen: number;
  readonly colors: ChartColors;
}

/** @param context Scaled so that one unit is one CSS pixel; empty. */
export function drawBars(context: CanvasRenderingContext2D, picture: Picture): void {
  const { bars, window, heightPx, colors } = picture;
  const bottom = heightPx - PLOT.bottom;
  const shown = barsShown(bars.total, window);
  let maxUs = 0;
  for (const each of shown) maxUs = Math.max(maxUs, bars.total[each] ?? 0);
  const perUs = maxUs > 0 ? (bottom - PLOT.top) / maxUs : 0;
  context.font = FONT;
  context.save();
  context.translate(PLOT.left, 0);
  drawGround(context, picture, bottom);
  drawGrid(context, picture, maxUs, perUs, bottom);
  drawStacks(context, picture, shown, perUs, bottom);
  drawChosen(context, picture, bottom);
  drawNames(context, picture, bottom);
  context.restore();
  context.fillStyle = colors.soft;
  context.textAlign = "center";
  context.textBaseline = "bottom";
  context.fillText("Iteration", PLOT.left + window.widthPx / 2, heightPx - 2);
}

function drawGround(context: CanvasRenderingContext2D, { window, range, colors }: Picture, bottom: number): void {
  if (range === null) return;
  const [left, right] = [range.first, range.last + 1].map((edge) => Math.max(0, Math.min(window.widthPx, edgeX(edge, window))));
  context.fillStyle = colors.color("--chosen");
  context.globalAlpha = 0.5;
  context.fillRect(left ?? 0, PLOT.top, (right ?? 0) - (left ?? 0), bottom - PLOT.top);
  context.globalAlpha = 1;
}

function drawGrid(context: CanvasRenderingContext2D, { window, colors }: Picture, maxUs: number, perUs: number, bottom: number): void {
  const scale = scaleFor("us", maxUs);
  context.textAlign = "right";
  context.textBaseline = "middle";
  const ticks = ticksUpTo(maxUs / scale.divisor, Y_TICKS);
  const digits = Math.max(0, Math.min(3, -Math.floor(Math.log10(ticks[1] ?? 1))));
  for (const tick of ticks) {
    const y = Math.round(bottom - tick * scale.divisor * perUs) + 0.5;
    context.fillStyle = colors.line;
    context.fillRect(0, y - 0.5, window.widthPx, 1);
    context.fillStyle = colors.soft;
    context.fillText(tick === 0 ? "0" : `${formatNumber(tick, digits)} ${scale.label}`, -SCALE_GAP_PX, y);
  }
}

function drawStacks(context: CanvasRenderingContext2D, picture: Picture, shown: Int32Array, perUs: number, bottom: number): void {
  const { bars, window, isSelected, colors } = picture;
  const pitch = window.widthPx / Math.max(1, shown.length);
  const width = pitch >= GAP_FROM_PX ? Math.min(MAX_BAR_PX, Math.floor(pitch) - 1) : Math.ceil(pitch);
  const inset = pitch > MAX_BAR_PX ? (pitch - width) / 2 : 0;
  const tops = new Float64Array(shown.length);
  const lit = Uint8Array.from(shown, (each) => (isSelected(each) ? 1 : 0));
  for (const { color, values } of bars.parts) {
    context.fillStyle = colors.color(color);
    for (let bar = 0; bar < shown.length; bar++) {
      if (lit[bar] === 0) continue;
      const height = (values[shown[bar] ?? 0] ?? 0) * perUs;
      context.fillRect(Math.floor(bar * pitch + inset), bottom - (tops[bar] ?? 0) - height, width, height);
      tops[bar] = (tops[bar] ?? 0) + height;
    }
  }
  context.fillStyle = colors.color(UNSELECTED);
  for (let bar = 0; bar < shown.length; bar++) {
    if (lit[bar] === 1) continue;
    const height = (bars.total[shown[bar] ?? 0] ?? 0) * perUs;
    context.fillRect(Math.floor(bar * pitch + inset), bottom - height, width, height);
  }
}

/** A mark below the chosen iteration. */
function drawChosen(context: CanvasRenderingContext2D, { window, chosen, colors }: Picture, bottom: number): void {
  if (chosen < window.from || chosen >= window.to) return;
  const left = edgeX(chosen, window);
  const width = Math.max(6, edgeX(chosen + 1, window) - left);
  context.fillStyle = colors.accent;
  context.fillRect(Math.max(0, Math.min(left, window.widthPx - width)), bottom + 1, width, 3);
}

function drawNames(context: CanvasRenderingContext2D, { bars, window, colors }: Picture, bottom: number): void {
  const count = window.to - window.from;
  const step = Math.max(1, roundStep((count * X_TICK_PX) / window.widthPx));
  context.fillStyle = colors.soft;
  context.textAlign = "center";
  context.textBaseline = "top";
  for (let each = window.from; each < window.to; each += step) {
    const middle = (edgeX(each, window) + edgeX(each + 1, window)) / 2;
    context.fillText(shortenMiddle(visibleText(bars.names[each] ?? ""), NAME_CHARACTERS), middle, bottom + 7);
  }
}
