/** The rectangles of all tracks on screen, over the lines of the ruler. */
import { mix } from "./colors";
import type { TrackRow } from "./layout";
import type { RectRenderer } from "./rects";
import { ticks } from "./ruler";
import { HEAD_PX, piecesOf, rowTopPx, type Scene } from "./scene";
import { pxOf } from "./viewport";

/** How much of the colour of lines the grid has. */
const GRID_TINT = 0.5;

/** @param renderer Of the surface below the ruler. */
export function drawBoxes(renderer: RectRenderer, scene: Scene, ratio: number): void {
  const { viewport, widthPx, heightPx, palette } = scene;
  renderer.begin(widthPx, Math.max(1, heightPx - HEAD_PX), ratio, palette.background);
  const gridColor = mix(palette.background, palette.color("--line"), GRID_TINT);
  for (const { timeNs } of ticks(viewport, widthPx)) renderer.line(pxOf(viewport, timeNs, widthPx), gridColor);
  for (const row of scene.rows) drawTrack(renderer, scene, row);
}

function drawTrack(renderer: RectRenderer, scene: Scene, row: TrackRow): void {
  const { viewport, widthPx, stickyPx } = scene;
  const topPx = rowTopPx(scene, row) - HEAD_PX;
  // What scrolls ends below what stays on top.
  const firstPx = row.topPx < stickyPx ? 0 : stickyPx;
  for (const { tile, leftPx, rightPx } of piecesOf(scene.tilesOf(row.number), viewport, widthPx)) {
    const offsetPx = pxOf(viewport, tile.startNs, widthPx);
    const scalePx = pxOf(viewport, tile.endNs, widthPx) - offsetPx;
    const clip = { leftPx, rightPx, topPx: Math.max(topPx, firstPx), bottomPx: topPx + row.heightPx - 1 };
    renderer.draw({ batch: tile.batch, scalePx, offsetPx, topPx, clip });
  }
}
