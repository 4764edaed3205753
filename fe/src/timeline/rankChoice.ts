/**
 * Which ranks are drawn as bands, in the address:
 *
 *     ranks=all         every worker of the run
 *     ranks=0-63,70     by their recorded rank; where recordings declare none, by their place in the run, from 0
 */
import type { TimelineClockPayload } from "../generated/schema";

export const ALL_RANKS = "all";

const ITEM = /^(\d{1,7})(?:[-:](\d{1,7}))?$/;

type Ranked = Pick<TimelineClockPayload, "worker" | "rank">;

/** The number by which a worker is chosen. */
function numberOf({ rank }: Ranked, index: number): number {
  return rank ?? index;
}

/** The workers that a text names, in the order of the run, and the items that name none. */
export function chosenRanks<W extends Ranked>(text: string, workers: readonly W[]): { readonly chosen: readonly W[]; readonly unknown: readonly string[] } {
  const items = [...new Set(text.split(",").map((item) => item.trim()))].filter((item) => item !== "");
  const ranges = items.map((item) => ({ item, ...rangeOf(item) }));
  const numbers = workers.map(numberOf);
  const unknown = ranges.filter(({ first, last }) => !numbers.some((number) => number >= first && number <= last)).map(({ item }) => item);
  const isChosen = (number: number) => ranges.some(({ first, last }) => number >= first && number <= last);
  return { chosen: workers.filter((_, index) => isChosen(numbers[index] ?? -1)), unknown };
}

function rangeOf(item: string): { readonly first: number; readonly last: number } {
  if (item === ALL_RANKS) return { first: 0, last: Infinity };
  const match = ITEM.exec(item);
  if (match === null) return { first: 1, last: 0 };
  return { first: Number(match[1]), last: Number(match[2] ?? match[1]) };
}

/** The shortest text that names these workers and no other. */
export function formatRanks(names: ReadonlySet<string>, workers: readonly Ranked[]): string {
  if (workers.length > 0 && workers.every(({ worker }) => names.has(worker))) return ALL_RANKS;
  const numbers = workers
    .map((each, index) => (names.has(each.worker) ? numberOf(each, index) : -1))
    .filter((number) => number >= 0)
    .sort((one, other) => one - other);
  const ranges: [number, number][] = [];
  for (const number of numbers) {
    const last = ranges.at(-1);
    if (last !== undefined && number <= last[1] + 1) last[1] = number;
    else ranges.push([number, number]);
  }
  return ranges.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(",");
}

/** The first worker of every machine; all where machines are not known. */
export function onePerNode(workers: readonly (Ranked & Pick<TimelineClockPayload, "node">)[]): ReadonlySet<string> {
  const seen = new Set<string>();
  return new Set(
    workers
      .filter(({ node, worker }) => {
        const key = node ?? `worker ${worker}`;
        return !seen.has(key) && seen.add(key);
      })
      .map(({ worker }) => worker),
  );
}

/** "rank 3", or the name of a worker without a rank. */
export function rankTitle({ worker, rank }: Ranked): string {
  return rank === null ? worker : `rank ${rank}`;
}
