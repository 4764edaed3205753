/**
 * Numbers as text: thousands grouped by a thin space, as many digits as are significant.
 *
 *     formatNumber(1204)      → "1 204"        formatNumber(12.3456, 3) → "12.346"
 */
import type { Scalar, Unit } from "../api/types";
import { baseLabel, scaleFor, type Scale } from "./units";
import { visibleText } from "./visibleText";

/** Narrow no-break space: groups digits without a line break. */
export const THIN_SPACE = "\u202f";
export const NO_VALUE = "–";

/** `value` with at most `digits` decimals and grouped thousands; "–0" never appears. */
export function formatNumber(value: number, digits = 0): string {
  if (!Number.isFinite(value)) return String(value);
  const fixed = Math.abs(value).toFixed(digits);
  const [whole = "0", fraction] = fixed.split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, THIN_SPACE);
  const sign = value < 0 && Number(fixed) !== 0 ? "−" : "";
  return sign + grouped + (fraction === undefined ? "" : `.${fraction}`);
}

/** Decimals that a column with this largest shown value needs to keep three or four digits. */
export function digitsFor(largestShown: number, whole: boolean): number {
  if (whole) return 0;
  const size = Math.abs(largestShown);
  if (size >= 1000) return 1;
  if (size >= 10) return 2;
  return 3;
}

/**
 * Decimals that keep four digits of a largest shown value below 1, as it stands in the unit of larger ones; no more
 * than a whole ns or byte needs.
 */
export function digitsOfSmall(largestShown: number, unit: Unit | null, { divisor }: Scale): number {
  const size = Math.abs(largestShown);
  if (size === 0 || size >= 1) return 0;
  const finest = unit === "us" ? 1e-3 : 1;
  return Math.max(0, Math.min(3 - Math.floor(Math.log10(size)), Math.ceil(-Math.log10(finest / divisor))));
}

/** Decimals of a single shown value in a sentence or headline: three significant digits, more only for whole parts. */
export function significantDigits(shown: number): number {
  const size = Math.abs(Number(shown.toPrecision(3)));
  if (size >= 100) return 0;
  if (size >= 10) return 1;
  return size >= 1 ? 2 : 3;
}

/** A single value outside a table, with its own best unit: `formatValue(1500, "us")` → "1.50 ms". */
export function formatValue(value: Scalar, unit: Unit | null): string {
  if (value === null) return NO_VALUE;
  if (typeof value === "boolean") return value ? "Yes" : "No";
  if (typeof value === "string") return visibleText(value);
  return withUnit(value, scaleFor(unit, Math.abs(value)), unit);
}

/** A moment in whole ns, with every digit: neighbours late in a recording differ in the last one. */
export function formatMoment(ns: number): string {
  const scale = scaleFor("ns", Math.abs(ns));
  const digits = Math.round(Math.log10(scale.divisor));
  return `${formatNumber(ns / scale.divisor, digits)} ${scale.label}`;
}

/** `value` (base unit) in `scale`, with the label. */
export function withUnit(value: number, scale: Scale, unit: Unit | null): string {
  const shown = value / scale.divisor;
  const whole = value === 0 || (scale.divisor === 1 && Number.isInteger(value) && unit !== "pct");
  const digits = whole ? 0 : unit === "pct" ? 1 : significantDigits(shown);
  const text = nearlyNone(shown, digits) ?? nearlyAll(shown, digits, unit) ?? formatNumber(shown, digits);
  return scale.label === "" ? text : `${text} ${scale.label}`;
}

/** `<0.1` for a value that would round to 0, else null: a small value must not read as none. */
export function nearlyNone(shown: number, digits: number): string | null {
  if (shown === 0 || Number(shown.toFixed(digits)) !== 0) return null;
  return `${shown < 0 ? ">−" : "<"}${formatNumber(10 ** -digits, digits)}`;
}

/** `>99.9` for a percentage below 100 that would round to 100, else null: nearly all must not read as all. */
export function nearlyAll(percentage: number, digits: number, unit: Unit | null): string | null {
  if (unit !== "pct" || percentage >= 100 || Number(percentage.toFixed(digits)) < 100) return null;
  return `>${formatNumber(100 - 10 ** -digits, digits)}`;
}

/** Whether a column holds moments, where the last digits distinguish rows, as in `views/scales.py`. */
export function isMoment(key: string): boolean {
  return /(?:^|_)(?:start|end|at|allocation|release|peak|origin)_(?:us|ns)$/.test(key);
}

/**
 * The decimals that different values, shown in multiples of `divisor`, need to look different; no more than a
 * whole ns needs, 0 when no two values differ.
 */
export function distinguishingDigits(values: readonly Scalar[], unit: Unit | null, divisor: number): number {
  const nanosecond = unit === "us" ? 1e-3 : unit === "ns" ? 1 : null;
  const sorted = values.filter((value): value is number => typeof value === "number").sort((a, b) => a - b);
  let gap = Infinity;
  sorted.forEach((value, index) => {
    const distance = value - (sorted[index - 1] ?? value);
    if (distance > 0 && distance < gap) gap = distance;
  });
  if (nanosecond === null || gap === Infinity) return 0;
  // Numbers that differ by more than one of the last digit are never rounded to the same.
  const needed = Math.floor(-Math.log10(gap / divisor)) + 1;
  return Math.min(Math.max(needed, 0), Math.round(-Math.log10(nanosecond / divisor)));
}

/** The exact value as the server sent it, in its base unit: for hover and copy. */
export function exactValue(value: Scalar, unit: Unit | null): string {
  if (value === null) return NO_VALUE;
  if (typeof value === "boolean") return value ? "Yes" : "No";
  if (typeof value === "string") return value;
  const [whole = "0", fraction] = String(value).split(".");
  const grouped = whole.includes("e") ? whole : whole.replace(/\B(?=(\d{3})+$)/g, THIN_SPACE);
  const text = fraction === undefined ? grouped : `${grouped}.${fraction}`;
  const label = baseLabel(unit);
  return label === "" ? text : `${text} ${label}`;
}

/** A duration: "4 s", "2 min 10 s". */
export function formatSeconds(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  return `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

/** From this confidence on a difference is called significant: the usual level of 5 %. */
const SIGNIFICANT_PCT = 95;

/** What a confidence says of a difference, in percent: "not significant (p = 0.92)". */
export function significanceText(confidencePct: number): string {
  const p = 1 - confidencePct / 100;
  const shown = p < 0.001 ? "p < 0.001" : `p = ${p.toFixed(p < 0.1 ? 3 : 2)}`;
  return `${confidencePct >= SIGNIFICANT_PCT ? "" : "not "}significant (${shown})`;
}
