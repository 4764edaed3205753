/** A moment as people type it: "12.5" and "12.5 ms" are milliseconds; "800 us", "1.2 s" as they say. */

const FACTORS: Readonly<Record<string, number>> = { "": 1e3, ms: 1e3, us: 1, µs: 1, s: 1e6 };

/** Microseconds; null where it is no time from 0 on. */
export function parseMoment(text: string): number | null {
  const found = /^\s*([0-9]*[.,]?[0-9]+)\s*(ms|us|µs|s|)\s*$/.exec(text);
  if (found === null) return null;
  const factor = FACTORS[found[2] ?? ""];
  const value = Number((found[1] ?? "").replace(",", "."));
  return factor === undefined || !Number.isFinite(value) ? null : value * factor;
}

/** As the field shows it: milliseconds with every digit that counts. */
export function formatMs(us: number): string {
  return (us / 1e3).toFixed(6).replace(/\.?0+$/, "");
}
