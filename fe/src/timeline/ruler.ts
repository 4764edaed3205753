/**
 * Marks on the time axis: round numbers, as many as fit, in one unit.
 *
 *     ticks({ startNs: 0, endNs: 10_000 }, 1000) → 0, 1, 2 … 10 µs
 */
import { roundStep } from "../lib/roundStep";
import { spanNs, type Viewport } from "./viewport";

export interface Tick {
  readonly timeNs: number;
  readonly label: string;
}

/** Room a label needs. */
const TICK_GAP_PX = 96;

const UNITS = [
  { label: "s", ns: 1e9 },
  { label: "ms", ns: 1e6 },
  { label: "µs", ns: 1e3 },
  { label: "ns", ns: 1 },
] as const;

/** The next of 1, 2, 5, 10 … that is not smaller; at least one nanosecond. */
export function niceStep(ns: number): number {
  return roundStep(Math.max(ns, 1));
}

export function ticks(viewport: Viewport, widthPx: number): Tick[] {
  const step = niceStep((spanNs(viewport) * TICK_GAP_PX) / Math.max(1, widthPx));
  const marks: Tick[] = [];
  const first = Math.ceil(viewport.startNs / step);
  const last = Math.floor(viewport.endNs / step);
  for (let index = first; index <= last; index++) {
    const timeNs = index * step;
    marks.push({ timeNs, label: tickLabel(timeNs, step) });
  }
  return marks;
}

/** A moment, with the decimals that neighbouring marks need to differ: "12.35 ms". */
export function tickLabel(timeNs: number, stepNs: number): string {
  const unit = UNITS.find(({ ns }) => Math.max(Math.abs(timeNs), stepNs) >= ns) ?? UNITS[3];
  const decimals = Math.max(0, Math.ceil(-Math.log10(stepNs / unit.ns) - 1e-9));
  const text = (Math.abs(timeNs) / unit.ns).toFixed(decimals);
  const [whole = "0", fraction] = text.split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, "\u202f");
  return `${timeNs < 0 ? "−" : ""}${grouped}${fraction === undefined ? "" : `.${fraction}`} ${unit.label}`;
}
