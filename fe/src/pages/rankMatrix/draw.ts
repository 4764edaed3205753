/** Draws a matrix of ranks, and finds the cell under a pointer. */
import type { Theme } from "../../ui/theme";
import type { ChartColors } from "../../chart/colors";
import type { Arrangement, MatrixRank, Panels } from "./arrange";
import { colorOf, shareOf, type Spread } from "./colorScale";

export interface Drawing {
  readonly arrangement: Arrangement;
  readonly ranks: readonly MatrixRank[];
  readonly spread: Spread | null;
  readonly panels: Panels;
}

/** From this size on cells have a gap between them. */
const GAP_FROM_PX = 6;
/** From this size on an outlier has a mark besides its frame. */
const MARK_FROM_PX = 10;

export function sizeOf({ arrangement, panels: { count, rowsOfEach, cellPx } }: Drawing): { widthPx: number; heightPx: number } {
  const columns = arrangement.columns.labels.length;
  return { widthPx: (count * columns + count - 1) * cellPx, heightPx: rowsOfEach * cellPx };
}

/** The left upper corner of a cell. */
export function positionOf(cell: number, { arrangement, panels: { rowsOfEach, cellPx } }: Drawing): { x: number; y: number } {
  const columns = arrangement.columns.labels.length;
  const row = Math.floor(cell / columns);
  const panel = Math.floor(row / rowsOfEach);
  return { x: (panel * (columns + 1) + (cell % columns)) * cellPx, y: (row % rowsOfEach) * cellPx };
}

/** The cell at a position, -1 for none. */
export function cellAt(x: number, y: number, { arrangement, panels: { count, rowsOfEach, cellPx } }: Drawing): number {
  const [columns, rows] = [arrangement.columns.labels.length, arrangement.rows.labels.length];
  const across = Math.floor(x / cellPx);
  const [panel, column] = [Math.floor(across / (columns + 1)), across % (columns + 1)];
  const down = Math.floor(y / cellPx);
  const row = panel * rowsOfEach + down;
  const isInside = x >= 0 && y >= 0 && panel < count && column < columns && down < rowsOfEach && row < rows;
  return isInside ? row * columns + column : -1;
}

export function drawMatrix(context: CanvasRenderingContext2D, drawing: Drawing, theme: Theme, colors: ChartColors, focused: number): void {
  const { arrangement, ranks, spread, panels } = drawing;
  const size = panels.cellPx - (panels.cellPx >= GAP_FROM_PX ? 1 : 0);
  const outliers: number[] = [];
  arrangement.cells.forEach((index, cell) => {
    const rank = ranks[index];
    if (rank === undefined) return;
    const { x, y } = positionOf(cell, drawing);
    if (rank.value === null || spread === null) hatch(context, x, y, size, colors.line);
    else {
      context.fillStyle = colorOf(shareOf(rank.value, spread), theme);
      context.fillRect(x, y, size, size);
    }
    if (rank.isOutlier) outliers.push(cell);
  });
  for (const cell of outliers) markOutlier(context, positionOf(cell, drawing), size, colors);
  if (focused >= 0) frame(context, positionOf(focused, drawing), size, colors.accent);
}

/** A cell whose value is unknown: a frame with one stroke, so that it is no colour of the scale. */
function hatch(context: CanvasRenderingContext2D, x: number, y: number, size: number, color: string): void {
  context.strokeStyle = color;
  context.lineWidth = 1;
  context.strokeRect(x + 0.5, y + 0.5, Math.max(1, size - 1), Math.max(1, size - 1));
  context.beginPath();
  context.moveTo(x, y + size);
  context.lineTo(x + size, y);
  context.stroke();
}

function markOutlier(context: CanvasRenderingContext2D, { x, y }: { x: number; y: number }, size: number, colors: ChartColors): void {
  frame(context, { x, y }, size, colors.color("--bad"));
  if (size < MARK_FROM_PX) return;
  context.fillStyle = colors.surface;
  context.beginPath();
  context.arc(x + size / 2, y + size / 2, size / 5, 0, 2 * Math.PI);
  context.fill();
  context.fillStyle = colors.color("--bad");
  context.beginPath();
  context.arc(x + size / 2, y + size / 2, size / 7, 0, 2 * Math.PI);
  context.fill();
}

function frame(context: CanvasRenderingContext2D, { x, y }: { x: number; y: number }, size: number, color: string): void {
  context.strokeStyle = color;
  context.lineWidth = size >= GAP_FROM_PX ? 2 : 1;
  context.strokeRect(x, y, size, size);
}
