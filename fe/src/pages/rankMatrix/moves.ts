/** Which cell the arrow keys lead to. */
import type { Arrangement } from "./arrange";

const STEPS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

/** The next cell with a rank in the direction of a key; the same where there is none, null for other keys. */
export function cellAfter(key: string, cell: number, { cells, rows, columns }: Arrangement): number | null {
  const [height, width] = [rows.labels.length, columns.labels.length];
  if (key === "Home") return firstCell(cells);
  if (key === "End") return cells.length - 1 - firstCell(cells.toReversed());
  const step = STEPS[key];
  if (step === undefined) return null;
  let [row, column] = [Math.floor(cell / width) + step[0], (cell % width) + step[1]];
  while (row >= 0 && row < height && column >= 0 && column < width) {
    if ((cells[row * width + column] ?? -1) >= 0) return row * width + column;
    [row, column] = [row + step[0], column + step[1]];
  }
  return cell;
}

/** The first cell with a rank. */
export function firstCell(cells: Int32Array): number {
  return Math.max(0, cells.findIndex((index) => index >= 0));
}
