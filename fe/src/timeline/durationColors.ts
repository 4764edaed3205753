/**
 * Colours by duration: a class per power of ten, the same on every screen and in every recording, so that colours can be
 * compared. One scale of lightness (cividis), which people with any colour vision order alike; the longer, the more
 * contrast with the background.
 */
import { mix } from "./colors";
import type { Rgb } from "./rects";

/** Upper ends of the classes; the last one has none. */
const EDGES_NS = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8];

/** From yellow to blue. */
const CIVIDIS: readonly Rgb[] = [
  [240, 224, 110],
  [200, 182, 107],
  [166, 155, 118],
  [131, 126, 120],
  [97, 99, 112],
  [57, 72, 109],
  [0, 40, 92],
];

const DARK_LIFT = 0.1;

export interface DurationClass {
  readonly title: string;
  readonly color: Rgb;
}

const TITLES = ["under 1 µs", "1–10 µs", "10–100 µs", "100 µs – 1 ms", "1–10 ms", "10–100 ms", "100 ms and more"];

/** The classes from short to long. */
export function durationClasses(dark: boolean): readonly DurationClass[] {
  // The darkest would be lost on a dark page.
  const colors = dark ? [...CIVIDIS].reverse().map((color) => mix(color, [255, 255, 255], DARK_LIFT)) : CIVIDIS;
  return TITLES.map((title, index) => ({ title, color: colors[index] ?? [128, 128, 128] }));
}

/** The number of a duration's class. */
export function durationClassOf(durNs: number): number {
  const index = EDGES_NS.findIndex((edge) => durNs < edge);
  return index < 0 ? EDGES_NS.length : index;
}
