/** Where the band of a chosen range is drawn: over the tracks that it sums up, and always over the ruler. */
import { HEAD_PX, MINIMAP_PX, rowTopPx, type Scene } from "./scene";

/** Heights of the surface. */
export interface Band {
  readonly topPx: number;
  readonly bottomPx: number;
}

/** From above; neighbours are one. */
export function rangeBands(scene: Pick<Scene, "rows" | "over" | "scrollPx" | "stickyPx" | "heightPx">): Band[] {
  const { rows, over, stickyPx, heightPx } = scene;
  if (over === null) return [{ topPx: MINIMAP_PX, bottomPx: heightPx }];
  const stickyBottom = HEAD_PX + stickyPx;
  const bands: Band[] = [];
  let last: Band = { topPx: MINIMAP_PX, bottomPx: HEAD_PX };
  for (const row of rows.filter(({ track }) => over.has(track.key))) {
    const top = rowTopPx(scene, row);
    const isSticky = row.topPx < stickyPx;
    const topPx = Math.max(top, isSticky ? HEAD_PX : stickyBottom);
    const bottomPx = Math.min(top + row.heightPx, isSticky ? stickyBottom : heightPx);
    if (bottomPx <= topPx) continue;
    if (topPx <= last.bottomPx) last = { topPx: last.topPx, bottomPx };
    else {
      bands.push(last);
      last = { topPx, bottomPx };
    }
  }
  return [...bands, last];
}
