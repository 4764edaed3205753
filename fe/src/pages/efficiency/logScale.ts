/** Logarithmic axes: where a value lies, and which values are marked. */

export interface LogScale {
  readonly low: number;
  readonly high: number;
  /** Place of `low` and of `high` on the screen. */
  readonly from: number;
  readonly to: number;
}

/** Where a value lies; one outside lies at the edge. */
export function place({ low, high, from, to }: LogScale, value: number): number {
  const inside = Math.min(Math.max(value, low), high);
  return from + ((to - from) * Math.log(inside / low)) / Math.log(high / low);
}

/** Powers of ten inside, no more than `most`. */
export function decades({ low, high }: Pick<LogScale, "low" | "high">, most: number): number[] {
  const first = Math.ceil(Math.log10(low) - 1e-9);
  const last = Math.floor(Math.log10(high) + 1e-9);
  const every = Math.max(1, Math.ceil((last - first + 1) / most));
  const marked: number[] = [];
  for (let power = first; power <= last; power += every) marked.push(10 ** power);
  return marked;
}

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** 0.01, 1, 1000, 10⁵: a power of ten as an axis names it. */
export function decadeText(value: number): string {
  const power = Math.round(Math.log10(value));
  if (power >= 0 && power < 4) return String(10 ** power);
  if (power < 0 && power > -4) return (10 ** power).toFixed(-power);
  const digits = String(Math.abs(power)).replace(/\d/g, (digit) => SUPERSCRIPTS[Number(digit)] ?? "");
  return `10${power < 0 ? "⁻" : ""}${digits}`;
}
