/** What lies under the pointer. */
import type { Boxes } from "./tile";

/** A thin slice is hit from this distance. */
export const REACH_PX = 3;

/** The box of `lane` at a moment, else the nearest one within reach; null when there is none. */
export function boxAt(boxes: Boxes, lane: number, timeNs: number, pixelNs: number): number | null {
  let best: number | null = null;
  let bestDistance = REACH_PX * pixelNs;
  for (let box = 0; box < boxes.count; box++) {
    if (boxes.lane[box] !== lane) continue;
    const start = boxes.startNs[box] ?? 0;
    const end = Math.max(boxes.endNs[box] ?? 0, start + pixelNs);
    const distance = timeNs < start ? start - timeNs : timeNs >= end ? timeNs - end : 0;
    if (distance > bestDistance || (distance === bestDistance && best !== null)) continue;
    best = box;
    bestDistance = distance;
    if (distance === 0 && boxes.slices[box] === 1) break;
  }
  return best;
}

/** The slice of `lane` that begins next after, or last before, a slice that starts at `startNs`. */
export function neighbour(boxes: Boxes, lane: number, startNs: number, direction: 1 | -1): number | null {
  let best: number | null = null;
  for (let box = 0; box < boxes.count; box++) {
    if (boxes.lane[box] !== lane || boxes.slices[box] !== 1) continue;
    const start = boxes.startNs[box] ?? 0;
    if ((start - startNs) * direction <= 0) continue;
    if (best === null || (start - (boxes.startNs[best] ?? 0)) * direction < 0) best = box;
  }
  return best;
}
