/**
 * Where each rank stands in a matrix: by its coordinates in the parallel strategy, by its node, or in order.
 *
 *     arrangements(ranks)            → the ways that give every rank a cell of its own, the first one by default
 *     panels(1024, 8, 900)           → how a tall matrix is split into columns of rows that fit a screen
 */

import type { Unit } from "../../api/types";

/** What colours a matrix. */
export interface MatrixMeasure {
  readonly title: string;
  readonly unit: Unit | null;
  readonly help?: string;
}

/** One rank and what is drawn of it. */
export interface MatrixRank {
  /** Name of its recording: what a click opens. */
  readonly worker: string;
  readonly rank: number | null;
  readonly value: number | null;
  readonly isOutlier: boolean;
  readonly node?: string | null;
  /** Dimension of the strategy → index, null where it is unknown or the job is not divided along it. */
  readonly coordinates?: Readonly<Record<string, number | null>>;
}

/** The titles of an axis and of each row (or column) on it. */
export interface MatrixAxis {
  readonly title: string;
  readonly labels: readonly string[];
}

export interface Arrangement {
  /** `given`: of whoever shows the matrix. */
  readonly id: "strategy" | "node" | "order" | "given";
  readonly title: string;
  readonly rows: MatrixAxis;
  readonly columns: MatrixAxis;
  /** Row by row, the index of the rank in each cell; -1 for none. */
  readonly cells: Int32Array;
}

/** Dimensions from the outermost to the innermost, with what people write for them. */
const DIMENSIONS: readonly (readonly [string, string])[] = [
  ["pipeline", "PP"],
  ["data", "DP"],
  ["context", "CP"],
  ["tensor", "TP"],
];
/** Ranks of one row, where nothing but their order is known. */
const MOST_IN_ONE_ROW = 16;
/** Rows of ranks in order have a multiple of so many: GPUs of usual servers. */
const NODE_SIZE = 8;
/** Columns that a window has room for; tall matrices are split into panels, wide ones are not. */
const MOST_COLUMNS = 256;

export function arrangements(ranks: readonly MatrixRank[]): Arrangement[] {
  return [byStrategy(ranks), byNode(ranks), inOrder(ranks)].filter((each) => each !== null);
}

/** Null where the coordinates do not distinguish the ranks. */
function byStrategy(ranks: readonly MatrixRank[]): Arrangement | null {
  const known = DIMENSIONS.filter(([key]) => ranks.some(({ coordinates }) => (coordinates?.[key] ?? null) !== null));
  if (known.length < 2) return null;
  const sizes = known.map(([key]) => 1 + ranks.reduce((most, { coordinates }) => Math.max(most, coordinates?.[key] ?? 0), 0));
  const split = balancedSplit(sizes);
  const index = (rank: MatrixRank, from: number, to: number) =>
    known.slice(from, to).reduce((sum, [key], at) => sum * (sizes[from + at] ?? 1) + (rank.coordinates?.[key] ?? 0), 0);
  const axis = (from: number, to: number): MatrixAxis => axisOf(known.slice(from, to), sizes.slice(from, to));
  const [outer, inner] = [axis(0, split), axis(split, known.length)];
  const isTurned = inner.labels.length > MOST_COLUMNS && outer.labels.length < inner.labels.length;
  const [rows, columns] = isTurned ? [inner, outer] : [outer, inner];
  const cells = filled(ranks, columns.labels.length, rows.labels.length, (rank) => {
    const at = [index(rank, 0, split), index(rank, split, known.length)] as const;
    return isTurned ? [at[1], at[0]] : at;
  });
  return cells === null ? null : { id: "strategy", title: "Strategy", rows, columns, cells };
}

/** After how many dimensions the columns begin, so that the matrix is no longer than it must be. */
function balancedSplit(sizes: readonly number[]): number {
  const imbalance = (split: number) => {
    const product = (part: readonly number[]) => part.reduce((all, size) => all * size, 1);
    return Math.abs(Math.log(product(sizes.slice(0, split)) / product(sizes.slice(split))));
  };
  const splits = sizes.slice(1).map((_, at) => at + 1);
  return splits.reduce((best, split) => (imbalance(split) < imbalance(best) ? split : best), sizes.length - 1);
}

function axisOf(dimensions: readonly (readonly [string, string])[], sizes: readonly number[]): MatrixAxis {
  const count = sizes.reduce((all, size) => all * size, 1);
  const labels = Array.from({ length: count }, (_, index) => {
    let rest = index;
    const parts = [...dimensions.keys()].reverse().map((at) => {
      const size = sizes[at] ?? 1;
      const own = rest % size;
      rest = Math.floor(rest / size);
      return `${dimensions[at]?.[1] ?? ""} ${own}`;
    });
    return parts.reverse().join(" · ");
  });
  return { title: dimensions.map(([key]) => key).join(" × "), labels };
}

/** A row per node; null where nodes are unknown, or there is one. */
function byNode(ranks: readonly MatrixRank[]): Arrangement | null {
  const nodes = [...new Set(ranks.map(({ node }) => node ?? null))];
  if (nodes.length < 2 || nodes.includes(null)) return null;
  const rowOf = new Map(nodes.map((node, row) => [node, row]));
  const counts = new Array<number>(nodes.length).fill(0);
  const positions = ranks.map(({ node }) => {
    const row = rowOf.get(node ?? null) ?? 0;
    const column = counts[row] ?? 0;
    counts[row] = column + 1;
    return [row, column] as const;
  });
  const width = Math.max(...counts);
  const cells = new Int32Array(nodes.length * width).fill(-1);
  positions.forEach(([row, column], index) => (cells[row * width + column] = index));
  return {
    id: "node",
    title: "Node",
    rows: { title: "node", labels: nodes.map((node) => node ?? "") },
    columns: { title: "rank of the node", labels: Array.from({ length: width }, (_, index) => String(index)) },
    cells,
  };
}

/** Row by row in the order given. */
function inOrder(ranks: readonly MatrixRank[]): Arrangement {
  const width = orderedWidth(ranks.length);
  const height = Math.max(1, Math.ceil(ranks.length / width));
  const cells = new Int32Array(width * height).fill(-1);
  ranks.forEach((_, index) => (cells[index] = index));
  return {
    id: "order",
    title: "Rank",
    rows: { title: "first rank", labels: Array.from({ length: height }, (_, row) => String(ranks[row * width]?.rank ?? row * width)) },
    columns: { title: "rank after it", labels: Array.from({ length: width }, (_, column) => `+${column}`) },
    cells,
  };
}

function orderedWidth(count: number): number {
  if (count <= MOST_IN_ONE_ROW) return Math.max(1, count);
  // Twice as wide as high: screens are.
  const square = Math.sqrt(2 * count);
  return Math.max(NODE_SIZE, Math.ceil(square / NODE_SIZE) * NODE_SIZE);
}

/** The cells, or null where two ranks would share one. */
function filled(ranks: readonly MatrixRank[], width: number, height: number, position: (rank: MatrixRank) => readonly [number, number]): Int32Array | null {
  const cells = new Int32Array(width * height).fill(-1);
  for (const [index, rank] of ranks.entries()) {
    const [row, column] = position(rank);
    const at = row * width + column;
    if (cells[at] !== -1) return null;
    cells[at] = index;
  }
  return cells;
}

export interface Panels {
  /** How many stand next to each other. */
  readonly count: number;
  readonly rowsOfEach: number;
  readonly cellPx: number;
}

const SMALLEST_CELL_PX = 3;
const LARGEST_CELL_PX = 28;
const MOST_HEIGHT_PX = 520;

/** Splits a matrix that is too tall for a screen: the largest cells that fit, with the fewest panels. */
export function panels(rows: number, columns: number, widthPx: number): Panels {
  let best: Panels | null = null;
  for (let count = 1; count <= rows; count++) {
    const rowsOfEach = Math.ceil(rows / count);
    // As few panels as hold so many rows.
    if (Math.ceil(rows / rowsOfEach) !== count) continue;
    const cells = count * columns + (count - 1);
    const fits = Math.min(Math.floor(widthPx / cells), Math.floor(MOST_HEIGHT_PX / rowsOfEach));
    const cellPx = Math.min(LARGEST_CELL_PX, fits);
    if (cellPx > (best?.cellPx ?? SMALLEST_CELL_PX - 1)) best = { count, rowsOfEach, cellPx };
  }
  // Nothing fits: the smallest cells, as many panels as the width has room for.
  const count = Math.max(1, Math.min(rows, Math.floor((widthPx / SMALLEST_CELL_PX + 1) / (columns + 1))));
  return best ?? { count, rowsOfEach: Math.ceil(rows / count), cellPx: SMALLEST_CELL_PX };
}
