/** A range of iterations, by row indexes of the table, and as `steps=` of the address. */
import type { Params } from "../../state/address";
import { stepsText } from "../steps";
import type { Bars } from "./bars";

/** Both ends included. */
export interface Range {
  readonly first: number;
  readonly last: number;
}

export type End = keyof Range;

/** The bars with the selection of the address, where that is a range: the answer of the server follows a moment later. */
export function withSelection(bars: Bars, { steps, start_us: start, end_us: end }: Params): Bars {
  const range = steps === undefined || start !== undefined || end !== undefined ? null : namedRange(steps, bars.names);
  return range === null ? bars : { ...bars, selected: new Uint8Array(bars.names.length).fill(1, range.first, range.last + 1) };
}

/** The smallest range with all selected iterations; null for none. */
export function selectedRange({ selected }: Pick<Bars, "selected">): Range | null {
  const [first, last] = [selected.indexOf(1), selected.lastIndexOf(1)];
  return first < 0 ? null : { first, last };
}

/** The range of "5:8" or "5" among these names; null for other texts, and outside of them. */
function namedRange(steps: string, names: readonly string[]): Range | null {
  const [, start, end] = /^(\d+)(?::(\d+))?$/.exec(steps.trim()) ?? [];
  if (start === undefined) return null;
  if (end === undefined) {
    const index = names.indexOf(start);
    return index < 0 ? null : { first: index, last: index };
  }
  const isInside = (name: string) => Number(name) >= Number(start) && Number(name) <= Number(end);
  const [first, last] = [names.findIndex(isInside), names.findLastIndex(isInside)];
  return first < 0 || names.slice(first, last + 1).some((name) => !isInside(name)) ? null : { first, last };
}

/** The range for the address; null for all iterations. */
export function rangeSteps({ first, last }: Range, names: readonly string[]): string | null {
  return first === 0 && last === names.length - 1 ? null : stepsText(names.slice(first, last + 1));
}

/** `range` with one end at `index`; the other end stays, and at least one iteration remains. */
export function withEnd(range: Range, end: End, index: number, count: number): Range {
  const inside = Math.max(0, Math.min(count - 1, index));
  return end === "first" ? { first: Math.min(inside, range.last), last: range.last } : { first: range.first, last: Math.max(inside, range.first) };
}

/** How far a key moves an end; null for other keys. */
export function keyStep(key: string, count: number): number | null {
  const page = Math.max(1, Math.round(count / 20));
  const steps: Partial<Record<string, number>> = {
    ArrowRight: 1,
    ArrowUp: 1,
    ArrowLeft: -1,
    ArrowDown: -1,
    PageUp: page,
    PageDown: -page,
    Home: -count,
    End: count,
  };
  return steps[key] ?? null;
}

/** The index of a typed name, else of the nearest number; null when the text is neither. */
export function parseIndex(typed: string, names: readonly string[]): number | null {
  const text = typed.trim();
  const exact = names.indexOf(text);
  if (exact >= 0) return exact;
  if (text === "" || !Number.isFinite(Number(text))) return null;
  const wanted = Number(text);
  let [nearest, distance] = [-1, Infinity];
  names.forEach((name, index) => {
    const nameDistance = Math.abs(Number(name) - wanted);
    if (nameDistance < distance) [nearest, distance] = [index, nameDistance];
  });
  return nearest < 0 ? null : nearest;
}
