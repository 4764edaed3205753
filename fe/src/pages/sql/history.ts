/** The queries that were run in this browser, newest first; nobody else sees them. */
import { useSyncExternalStore } from "react";

const STORAGE_KEY = "torch-tb-profiler.sql";
export const MAX_ENTRIES = 50;
/** Of all entries together: the storage of a browser is small, and shared. */
export const MAX_CHARACTERS = 200_000;

export interface HistoryEntry {
  readonly query: string;
  /** When it ran last, ms since 1970. */
  readonly atMs: number;
}

export type History = readonly HistoryEntry[];

/** With a query that ran: once, in front, and the oldest left out beyond the limits. */
export function addEntry(history: History, entry: HistoryEntry): History {
  const query = entry.query.trim();
  if (query === "" || query.length > MAX_CHARACTERS) return history;
  let characters = 0;
  return [{ ...entry, query }, ...history.filter((each) => each.query !== query)].slice(0, MAX_ENTRIES).filter((each) => (characters += each.query.length) <= MAX_CHARACTERS);
}

/** What the storage holds; anything else in it counts as nothing. */
export function parseHistory(text: string | null): History {
  try {
    const stored: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(stored) ? stored.filter(isEntry).slice(0, MAX_ENTRIES) : [];
  } catch {
    return [];
  }
}

function isEntry(value: unknown): value is HistoryEntry {
  const { query, atMs } = (value ?? {}) as Partial<Record<keyof HistoryEntry, unknown>>;
  return typeof query === "string" && typeof atMs === "number" && Number.isFinite(atMs);
}

let current: History | null = null;
/** Whether the storage holds what is listed here; it may be full, or forbidden. */
let isStored = true;
const listeners = new Set<() => void>();

/** What is listed now. */
export function readHistory(): History {
  try {
    current ??= parseHistory(localStorage.getItem(STORAGE_KEY));
  } catch {
    current = [];
  }
  return current;
}

/** With what other tabs wrote meanwhile. */
function latest(): History {
  if (isStored) current = null;
  return readHistory();
}

function write(next: History): void {
  current = next;
  isStored = true;
  try {
    if (next.length === 0) localStorage.removeItem(STORAGE_KEY);
    else localStorage.setItem(STORAGE_KEY, JSON.stringify(next));
  } catch {
    isStored = false; // not remembered after a reload, but listed until then
  }
  notify();
}

function notify(): void {
  for (const listener of listeners) listener();
}

export function rememberQuery(query: string): void {
  write(addEntry(latest(), { query, atMs: Date.now() }));
}

export function forgetQuery(query: string): void {
  write(latest().filter((each) => each.query !== query));
}

export function forgetAllQueries(): void {
  write([]);
}

export function useHistory(): History {
  return useSyncExternalStore(subscribeHistory, readHistory);
}

/** Calls `listener` after each change, of this tab or another; until the function that it returns is called. */
export function subscribeHistory(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener("storage", onStorage);
  return () => listeners.delete(listener);
}

/** Another tab wrote. */
function onStorage({ key }: StorageEvent): void {
  if (key !== STORAGE_KEY && key !== null) return;
  latest();
  notify();
}
