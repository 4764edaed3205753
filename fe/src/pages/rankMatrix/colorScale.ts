/** Colours of a measure from low to high: distinguished with every colour vision, and by lightness alone. */
import type { Theme } from "../../ui/theme";

/** Viridis (Smith and van der Walt, matplotlib 2015), nine of its colours: even steps of lightness. */
const STOPS: readonly (readonly [number, number, number])[] = [
  [68, 1, 84],
  [71, 44, 122],
  [59, 81, 139],
  [44, 113, 142],
  [33, 144, 141],
  [39, 173, 129],
  [92, 200, 99],
  [170, 220, 50],
  [253, 231, 37],
];

/** The colour of a share from 0 to 1. The highest values stand out from the page: dark on light, light on dark. */
export function colorOf(share: number, theme: Theme): string {
  const clamped = Math.min(1, Math.max(0, share));
  const at = (theme === "dark" ? clamped : 1 - clamped) * (STOPS.length - 1);
  const low = STOPS[Math.floor(at)] ?? STOPS[0];
  const high = STOPS[Math.ceil(at)] ?? low;
  if (low === undefined || high === undefined) return "transparent";
  const part = at - Math.floor(at);
  const channel = (index: 0 | 1 | 2) => Math.round(low[index] + (high[index] - low[index]) * part);
  return `rgb(${channel(0)}, ${channel(1)}, ${channel(2)})`;
}

export interface Spread {
  readonly low: number;
  readonly median: number;
  readonly high: number;
}

/** Null where no value is known. */
export function spreadOf(values: readonly (number | null)[]): Spread | null {
  const sorted = values.filter((value) => value !== null).sort((a, b) => a - b);
  const [low, high] = [sorted[0], sorted.at(-1)];
  if (low === undefined || high === undefined) return null;
  const middle = (sorted.length - 1) / 2;
  const median = ((sorted[Math.floor(middle)] ?? low) + (sorted[Math.ceil(middle)] ?? high)) / 2;
  return { low, median, high };
}

/** Where a value stands between the lowest and the highest, 0 to 1; the middle where all are equal. */
export function shareOf(value: number, { low, high }: Spread): number {
  return high === low ? 0.5 : (value - low) / (high - low);
}
