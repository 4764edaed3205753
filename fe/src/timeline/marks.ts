/** What a search stands out with: the names that match, told by their codes, since tiles hold long names cut. */
import type { TimelineSearchAnswer } from "../generated/schema";
import type { StackPart } from "./stack";

/** What matches on one worker. */
export interface Found {
  /** Codes of the names; null where they are too many to be told. */
  readonly codes: ReadonlySet<number> | null;
  /** What was searched for. */
  readonly text: string;
}

export type FoundInStack = ReadonlyMap<StackPart, Found>;

/** A worker that did not answer has nothing that matches. */
export const NOTHING_FOUND: Found = { codes: new Set(), text: "" };

export function foundOf({ name_codes: codes, query }: TimelineSearchAnswer): Found {
  return { codes: codes === null ? null : new Set(codes), text: query };
}

/** Whether a search means a name: it contains the text, or after `=` it is the text; case does not matter. */
export function nameMatcher(search: string): (name: string) => boolean {
  const text = search.toLowerCase();
  if (text.length > 1 && text.startsWith("=")) {
    const exact = text.slice(1);
    return (name) => name.length === exact.length && name.toLowerCase() === exact;
  }
  return (name) => name.toLowerCase().includes(text);
}

/** By name: which of them match. */
export function matchesOf(names: readonly (string | null)[], codes: Uint32Array, { codes: found, text }: Found): boolean[] {
  if (found !== null) return names.map((_, row) => found.has(codes[row] ?? -1));
  const isHit = nameMatcher(text);
  return names.map((name) => name !== null && isHit(name));
}
