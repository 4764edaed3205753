/** The names that match a search, identified by their codes, since tiles hold long names shortened. */
import type { TimelineSearchAnswer } from "../generated/schema";
import type { StackPart } from "./stack";

/** What matches on one worker. */
export interface NameMatches {
  /** Codes of the names; null where they are too many to be listed. */
  readonly codes: ReadonlySet<number> | null;
  /** What was searched for. */
  readonly text: string;
}

export type StackMatches = ReadonlyMap<StackPart, NameMatches>;

/** A worker that did not answer has no matches. */
export const NO_MATCHES: NameMatches = { codes: new Set(), text: "" };

export function answerMatches({ name_codes: codes, query }: TimelineSearchAnswer): NameMatches {
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
export function matchNames(names: readonly (string | null)[], codes: Uint32Array, { codes: matchingCodes, text }: NameMatches): boolean[] {
  if (matchingCodes !== null) return names.map((_, row) => matchingCodes.has(codes[row] ?? -1));
  const isHit = nameMatcher(text);
  return names.map((name) => name !== null && isHit(name));
}
