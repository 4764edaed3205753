/** Peaks that a user gives: text of the address, as `peak=` of the server, and kept for the next visit. */

export const PEAK_KEY = "peak";
export const BANDWIDTH = "bandwidth_gb_per_s";
export const TYPES = ["bfloat16", "float16", "float8", "float4", "tf32", "float32", "float64", "int8"] as const;

export type Peaks = ReadonlyMap<string, number>;

export function parsePeaks(text: string | null | undefined): Peaks {
  const parts = (text ?? "").split(",").flatMap((part): [string, number][] => {
    const [key = "", value = ""] = part.split("=");
    const amount = Number(value);
    return key.trim() !== "" && Number.isFinite(amount) && amount > 0 ? [[key.trim(), amount]] : [];
  });
  return new Map(parts);
}

export function formatPeaks(peaks: Peaks): string {
  return [...peaks].map(([key, value]) => `${key}=${value}`).join(",");
}

/** Peaks with one changed; an empty text takes it away. Null when the text is no positive number. */
export function withPeak(peaks: Peaks, key: string, text: string): Peaks | null {
  const next = new Map(peaks);
  if (text.trim() === "") {
    next.delete(key);
    return next;
  }
  const value = Number(text.replace(",", "."));
  if (!Number.isFinite(value) || value <= 0) return null;
  return next.set(key, value);
}

const storageKey = (run: string) => `pytorch_profiler.peak.${run}`;

/** What was given for a run before; nothing where the browser keeps nothing. */
export function storedPeaks(run: string): string | null {
  try {
    return localStorage.getItem(storageKey(run));
  } catch {
    return null;
  }
}

export function storePeaks(run: string, text: string | null): void {
  try {
    if (text === null || text === "") localStorage.removeItem(storageKey(run));
    else localStorage.setItem(storageKey(run), text);
  } catch {
    // A browser that keeps nothing; the address still says it.
  }
}
