/** Where the chosen iterations begin, as far as they can be distinguished on screen. */
import { visibleText } from "../lib/visibleText";
import { pxOf, type Viewport } from "./viewport";

/** Times on screen; each begins where the one before ends. */
export interface Iterations {
  readonly names: readonly string[];
  readonly startNs: Float64Array;
  /** End of the last. */
  readonly endNs: number;
}

export interface IterationMark {
  readonly x: number;
  /** Null where there is no room for it, and at the end of the last. */
  readonly name: string | null;
}

/** Nearer ones would be a grey ground. */
const MIN_GAP_PX = 6;
const NAME_PX = 44;

export function marksOnScreen({ names, startNs, endNs }: Iterations, viewport: Viewport, widthPx: number): IterationMark[] {
  const marks: IterationMark[] = [];
  let lastX = -Infinity;
  for (let index = 0; index <= names.length; index++) {
    const x = pxOf(viewport, startNs[index] ?? endNs, widthPx);
    const next = pxOf(viewport, startNs[index + 1] ?? endNs, widthPx);
    if (x > widthPx) break;
    if (x - lastX < MIN_GAP_PX || (x < 0 && next < NAME_PX)) continue;
    lastX = x;
    const isNamed = index < names.length && next - Math.max(x, 0) >= NAME_PX;
    if (x >= 0 || isNamed) marks.push({ x, name: isNamed ? visibleText(names[index] ?? "") : null });
  }
  return marks;
}
