/** Peak values entered by the user: `peak=` in the address and of the server, stored for the next visit. */

import type { Fact } from "../../api/types";

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

/** Peaks with one changed, or removed by an empty text; null when the text is not a positive number. */
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

/** What peaks are stored for: a run, or the names of its devices for other runs on them. */
export type Owner = { readonly run: string } | { readonly devices: string };

function storageKey(owner: Owner): string {
  return "run" in owner ? `pytorch_profiler.peak.${owner.run}` : `pytorch_profiler.peak_of_device.${owner.devices}`;
}

/** The stored peaks; null when there are none or the browser stores nothing. */
export function storedPeaks(owner: Owner): string | null {
  try {
    return localStorage.getItem(storageKey(owner));
  } catch {
    return null;
  }
}

export function storePeaks(owner: Owner, text: string | null): void {
  try {
    if (text === null || text === "") localStorage.removeItem(storageKey(owner));
    else localStorage.setItem(storageKey(owner), text);
  } catch {
    // The browser stores nothing; the address still has them.
  }
}

/** The names of the devices of a view, without duplicates; null when none has a name. */
export function devicesOf(facts: readonly Fact[]): string | null {
  const names = facts.flatMap(({ key, value }) => (key === "device_name" && typeof value === "string" ? [value] : []));
  return names.length === 0 ? null : [...new Set(names)].sort().join(" + ");
}
