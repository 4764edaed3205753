/** Bars of a histogram in a box of 1 × 1, and their texts. */
import type { TimelineNamesakesPayload } from "../generated/schema";
import { formatNumber, formatValue, withUnit } from "../lib/format";
import { scaleFor } from "../lib/units";

export interface HistogramBar {
  readonly left: number;
  readonly width: number;
  readonly height: number;
  readonly isSelected: boolean;
  readonly title: string;
}

/** Lower bars are not visible. */
const MIN_HEIGHT = 0.03;

export function barsOf({ counts, edges_us: edges, own_bin: selectedBin }: TimelineNamesakesPayload): HistogramBar[] {
  const max = Math.max(1, ...counts);
  const width = 1 / Math.max(1, counts.length);
  const scale = scaleFor("us", edges.at(-1) ?? 0);
  return counts.map((count, index) => ({
    left: index * width,
    width,
    height: count === 0 ? 0 : Math.max(MIN_HEIGHT, count / max),
    isSelected: index === selectedBin,
    title: `${formatNumber(count)} from ${withUnit(edges[index] ?? 0, scale, "us")} to ${withUnit(edges[index + 1] ?? 0, scale, "us")}`,
  }));
}

/** "slower than 93 % of them", in words for the ends and for equal ones. */
export function positionText({ count, shorter, longer }: TimelineNamesakesPayload): string {
  const others = count - 1;
  if (others <= 0) return "the only one of its name";
  if (shorter === 0 && longer === 0) return "as long as all the others";
  if (longer === 0) return shorter === others ? "the slowest of all" : `among the slowest, slower than ${share(shorter, others)}`;
  if (shorter === 0) return longer === others ? "the fastest of all" : `among the fastest, faster than ${share(longer, others)}`;
  return `slower than ${share(shorter, others)} of the others`;
}

/** A small share is never shown as 0 %. */
function share(part: number, all: number): string {
  const pct = (100 * part) / all;
  return pct < 0.1 ? "< 0.1 %" : formatValue(pct, "pct");
}
