/** What the card of idle gaps lists: of which part of time, sorted by what. */
import type { TimelineIdleGapPayload } from "../generated/schema";

/** Of which part of time the gaps are listed; in the address `gaps=`. */
export type GapScope = "trace" | "screen" | "range";

/** Null where the address opens no card; without a marked range the whole trace is taken. */
export function gapScopeOf(text: string | undefined, hasRange: boolean): GapScope | null {
  if (text === "range") return hasRange ? "range" : "trace";
  return text === "trace" || text === "screen" ? text : null;
}

export type GapSort = "length" | "start" | "device" | "cause";

const ORDERS: Readonly<Record<GapSort, (one: TimelineIdleGapPayload, other: TimelineIdleGapPayload) => number>> = {
  length: (one, other) => lengthNs(other) - lengthNs(one),
  start: (one, other) => one.gap.start_ns - other.gap.start_ns,
  device: (one, other) => one.gap.device - other.gap.device || lengthNs(other) - lengthNs(one),
  cause: (one, other) => causeOf(one).localeCompare(causeOf(other)) || lengthNs(other) - lengthNs(one),
};

export function lengthNs({ gap }: TimelineIdleGapPayload): number {
  return gap.end_ns - gap.start_ns;
}

/** The cause of most of it. */
export function causeOf({ causes }: TimelineIdleGapPayload): string {
  return causes[0]?.cause ?? "";
}

export function sortedGaps(gaps: readonly TimelineIdleGapPayload[], sort: GapSort, isReversed: boolean): readonly TimelineIdleGapPayload[] {
  const sorted = gaps.toSorted(ORDERS[sort]);
  return isReversed ? sorted.reverse() : sorted;
}
