/**
 * One unit per column: the scale that makes the largest value of a column readable.
 *
 *     scaleFor("us", 2_345_678)  → { label: "s", divisor: 1_000_000 }
 *     scaleFor("bytes", 3 << 20) → { label: "MiB", divisor: 1_048_576 }
 */
import type { Unit } from "../api/types";

export interface Scale {
  /** The unit in the header; empty for plain numbers. */
  readonly label: string;
  /** Base value ÷ divisor = shown value. */
  readonly divisor: number;
}

const PLAIN: Scale = { label: "", divisor: 1 };

/** Largest first: the first scale that the value reaches applies, else the last. */
const SCALES: Readonly<Record<Unit, readonly Scale[]>> = {
  us: [
    { label: "s", divisor: 1e6 },
    { label: "ms", divisor: 1e3 },
    { label: "µs", divisor: 1 },
    { label: "ns", divisor: 1e-3 },
  ],
  ns: [
    { label: "s", divisor: 1e9 },
    { label: "ms", divisor: 1e6 },
    { label: "µs", divisor: 1e3 },
    { label: "ns", divisor: 1 },
  ],
  bytes: [
    { label: "TiB", divisor: 2 ** 40 },
    { label: "GiB", divisor: 2 ** 30 },
    { label: "MiB", divisor: 2 ** 20 },
    { label: "KiB", divisor: 2 ** 10 },
    { label: "B", divisor: 1 },
  ],
  flops: [
    { label: "TFLOP", divisor: 1e12 },
    { label: "GFLOP", divisor: 1e9 },
    { label: "MFLOP", divisor: 1e6 },
    { label: "FLOP", divisor: 1 },
  ],
  pct: [{ label: "%", divisor: 1 }],
  gb_per_s: [{ label: "GB/s", divisor: 1 }],
  per_s: [{ label: "/s", divisor: 1 }],
  count: [PLAIN],
  ratio: [PLAIN],
};

/**
 * The scale for values whose largest magnitude is `largest` (in the base unit): the same for a column, a chart and
 * a single number, so that one amount reads the same everywhere on a page.
 */
export function scaleFor(unit: Unit | null, largest: number): Scale {
  if (unit === null) return PLAIN;
  const scales = SCALES[unit];
  const base = scales.find((scale) => scale.divisor === 1) ?? PLAIN;
  if (largest === 0 || !Number.isFinite(largest)) return base;
  return scales.find((scale) => largest >= scale.divisor) ?? scales.at(-1) ?? base;
}

/** The label of the base unit, for exact values and exports. */
export function baseLabel(unit: Unit | null): string {
  if (unit === null) return "";
  return SCALES[unit].find((scale) => scale.divisor === 1)?.label ?? "";
}

/** The units that may follow a number in a filter field, by lower-case label. */
export function unitAliases(unit: Unit | null): ReadonlyMap<string, number> {
  const aliases = new Map<string, number>();
  if (unit === null) return aliases;
  for (const { label, divisor } of SCALES[unit]) {
    if (label === "") continue;
    aliases.set(label.toLowerCase(), divisor);
    if (label === "µs") aliases.set("us", divisor);
    if (label.endsWith("iB")) {
      aliases.set(label.replace("i", "").toLowerCase(), divisor);
      aliases.set(label.charAt(0).toLowerCase(), divisor);
    }
  }
  return aliases;
}
