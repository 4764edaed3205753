/** Colours of boxes: by category, name or duration, with what is searched for standing out. */
import type { TimelineCategoryPayload } from "../generated/schema";
import { colorOfName, mix, shade, type ColorMode, type Palette } from "./colors";
import { durationClasses, durationClassOf } from "./durationColors";
import { LANE_PX, PADDING_PX } from "./layout";
import { matchNames, type NameMatches } from "./matches";
import type { RectBatch, Rgb } from "./rects";
import { NO_NAME, type Boxes, type TrackTile } from "./tile";

/** Category key of the server → variable of the theme. */
const VARIABLES: Readonly<Record<string, string>> = {
  operator: "--cat-cpu-exec",
  python_operator: "--cat-cpu-exec",
  optimizer: "--cat-cpu-exec",
  dataloader: "--cat-dataloader",
  runtime: "--cat-runtime",
  kernel: "--cat-kernel",
  memcpy: "--cat-memcpy",
  memset: "--cat-memset",
  communication: "--cat-communication",
  merged_computation: "--cat-kernel",
  merged_communication: "--cat-communication",
  merged_overlap: "--mark-overlap",
  merged_exposed: "--cat-communication",
  merged_idle: "--line",
  merged_copies: "--cat-memcpy",
  group: "--cat-cpu-exec",
  group_backward: "--cat-communication",
  scope: "--cat-cpu-exec",
  step: "--bar",
};
const FALLBACK = "--cat-other";

export function categoryVariable(key: string): string {
  return VARIABLES[key] ?? FALLBACK;
}

/** Ranges and frames are grey like "other"; modules lean towards the operators they call. */
export function categoryColor(key: string, palette: Palette): Rgb {
  const color = palette.color(categoryVariable(key));
  if (key === "module") return mix(color, palette.color("--cat-cpu-exec"), 0.4);
  return key.startsWith("python_f") ? mix(color, palette.background, 0.35) : color;
}

/** Rows above each other leave a line of background between them. */
const LANE_GAP_PX = 1;

/** Geometry of the boxes of a tile; colours are filled in by {@link paintTile}. */
export function createBatch(boxes: Boxes, startNs: number, endNs: number): RectBatch {
  const coordinates = new Float32Array(boxes.count * 4);
  const span = endNs - startNs;
  for (let box = 0; box < boxes.count; box++) {
    const top = PADDING_PX + (boxes.lane[box] ?? 0) * LANE_PX;
    coordinates[box * 4] = ((boxes.startNs[box] ?? 0) - startNs) / span;
    coordinates[box * 4 + 1] = ((boxes.endNs[box] ?? 0) - startNs) / span;
    coordinates[box * 4 + 2] = top;
    coordinates[box * 4 + 3] = top + LANE_PX - LANE_GAP_PX;
  }
  return { count: boxes.count, coordinates, paints: new Uint8Array(boxes.count * 4), marks: null, version: 0 };
}

export interface Paints {
  readonly palette: Palette;
  readonly mode: ColorMode;
  readonly categories: readonly TimelineCategoryPayload[];
  /** What a search highlights; null without a search, or until its answer arrives. */
  readonly matches: NameMatches | null;
}

/** More than there are category codes (a byte). */
const CATEGORIES = 256;
const GREY: Rgb = [128, 128, 128];

/** Fills in the colours; counts the batch's version up. */
export function paintTile(tile: TrackTile, paints: Paints): void {
  const { boxes, batch } = tile;
  const { palette, mode, categories, matches } = paints;
  const base = categories.map(({ key }) => categoryColor(key, palette));
  // The parts of a merged track are no names among others: idle time stays grey.
  const isSum = categories.map(({ key }) => key.startsWith("merged_"));
  const known = new Map<number, Rgb>();
  const byDuration = mode === "duration" ? durationClasses(palette.dark).map(({ color }) => color) : null;
  for (let box = 0; box < boxes.count; box++) {
    const category = boxes.category[box] ?? 0;
    const row = boxes.name[box] ?? NO_NAME;
    // Few names and categories, many boxes: each pair is worked out once.
    const pair = row * CATEGORIES + category;
    let color = byDuration === null || isSum[category] === true ? known.get(pair) : byDuration[durationClassOf(meanNs(boxes, box))];
    if (color === undefined) {
      const name = row === NO_NAME || isSum[category] === true ? null : (tile.names[row] ?? null);
      color = boxColor(name, base[category] ?? GREY, palette, mode);
      known.set(pair, color);
    }
    batch.paints.set(color, box * 4);
    batch.paints[box * 4 + 3] = busyByte(boxes, box);
  }
  batch.marks = matches === null ? null : marksOf(tile, matches, isSum);
  batch.version++;
}

/** The duration of a slice; of a merged block the mean of its slices. */
function meanNs({ startNs, endNs, busy, slices }: Boxes, box: number): number {
  return (((endNs[box] ?? 0) - (startNs[box] ?? 0)) * (busy[box] ?? 1)) / (slices[box] ?? 1);
}

/** 255 is a slice, which leaves a gap to its neighbour; a merged block leaves none, however busy. */
function busyByte({ slices, busy }: Boxes, box: number): number {
  if (slices[box] === 1) return 255;
  // At least a line of colour: something ran there.
  return Math.min(254, Math.max(20, Math.round((busy[box] ?? 1) * 255)));
}

function boxColor(name: string | null, base: Rgb, palette: Palette, mode: ColorMode): Rgb {
  if (name === null) return base;
  return mode === "name" ? colorOfName(name, palette.dark) : shade(base, name);
}

function marksOf(tile: TrackTile, matches: NameMatches, isSum: readonly boolean[]): Uint8Array {
  const isMatch = matchNames(tile.names, tile.nameCodes, matches);
  const { name, category } = tile.boxes;
  // The busy sums of a GPU are not slices that a search could match: they are not dimmed.
  return Uint8Array.from(name, (row, box) => (isMatch[row] === true || isSum[category[box] ?? 0] === true ? 1 : 0));
}
