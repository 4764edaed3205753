/** Logarithmic axes: the position of a value, and the ticks. */

export interface LogScale {
  readonly low: number;
  readonly high: number;
  /** Pixels of `low` and of `high`. */
  readonly from: number;
  readonly to: number;
}

/** The pixel of a value, clamped to the axis. */
export function toPixel({ low, high, from, to }: LogScale, value: number): number {
  const inside = Math.min(Math.max(value, low), high);
  return from + ((to - from) * Math.log(inside / low)) / Math.log(high / low);
}

/** Ticks at powers of ten, at most `maxCount`. */
export function decades({ low, high }: Pick<LogScale, "low" | "high">, maxCount: number): number[] {
  const first = Math.ceil(Math.log10(low) - 1e-9);
  const last = Math.floor(Math.log10(high) + 1e-9);
  const every = Math.max(1, Math.ceil((last - first + 1) / maxCount));
  const ticks: number[] = [];
  for (let power = first; power <= last; power += every) ticks.push(10 ** power);
  return ticks;
}

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** The label of a power of ten: 0.01, 1, 1000, 10⁵. */
export function decadeText(value: number): string {
  const power = Math.round(Math.log10(value));
  if (power >= 0 && power < 4) return String(10 ** power);
  if (power < 0 && power > -4) return (10 ** power).toFixed(-power);
  const digits = String(Math.abs(power)).replace(/\d/g, (digit) => SUPERSCRIPTS[Number(digit)] ?? "");
  return `10${power < 0 ? "⁻" : ""}${digits}`;
}
