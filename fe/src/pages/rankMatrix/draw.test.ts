/** The cell under a pointer is the one that is drawn there. */
import { expect, it } from "vitest";

import { arrangements, panels, type MatrixRank } from "./arrange";
import { cellAt, positionOf, sizeOf, type Drawing } from "./draw";

it.each([3, 16, 100, 8192])("every rank of %i is where its cell is drawn, and nothing outside", (count) => {
  const ranks = Array.from({ length: count }, (_, index): MatrixRank => ({ worker: String(index), rank: index, value: 0, isOutlier: false }));
  const [arrangement] = arrangements(ranks);
  if (arrangement === undefined) throw new Error("no arrangement");
  const drawing: Drawing = { arrangement, ranks, spread: null, panels: panels(arrangement.rows.labels.length, arrangement.columns.labels.length, 700) };
  const { widthPx, heightPx } = sizeOf(drawing);
  for (let cell = 0; cell < arrangement.cells.length; cell++) {
    const { x, y } = positionOf(cell, drawing);
    expect(x).toBeLessThan(widthPx);
    expect(y).toBeLessThan(heightPx);
    expect(cellAt(x + 1, y + 1, drawing)).toBe(cell);
  }
  for (const [x, y] of [[-1, 5], [5, -1], [widthPx + 1, 5], [5, heightPx + 1]] as const) expect(cellAt(x, y, drawing)).toBe(-1);
});
