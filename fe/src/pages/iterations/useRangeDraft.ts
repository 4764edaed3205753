/** The range while it is being moved: drawn at once, and put into the address when the movement rests. */
import { useCallback, useEffect, useRef, useState } from "react";

import { NO_TIME } from "../../state/selection";
import { navigate } from "../../state/urlStore";
import { rangeSteps, withEnd, type End, type Range } from "./range";

/** After the last turn of a wheel or press of a key. */
const REST_MS = 300;

export interface RangeDraft {
  /** What is shown: the draft, else what is selected. */
  readonly range: Range | null;
  readonly isMoving: boolean;
  /** Puts one end at a place; `rests` when the movement is over at once. */
  readonly put: (end: End, place: number, rests: boolean) => void;
  /** Moves one end by a number of places. */
  readonly move: (end: End, by: number) => void;
  /** The movement is over. */
  readonly rest: () => void;
}

export function selectSteps(steps: string | null): void {
  navigate({ ...NO_TIME, steps });
}

export function useRangeDraft(selected: Range | null, names: readonly string[]): RangeDraft {
  const [draft, setDraft] = useState<Range | null>(null);
  const latest = useRef<Range | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);

  const show = useCallback((range: Range | null) => {
    latest.current = range;
    setDraft(range);
  }, []);
  const rest = useCallback(() => {
    clearTimeout(timer.current);
    const range = latest.current;
    if (range === null) return;
    show(null);
    if (range.first !== selected?.first || range.last !== selected.last) selectSteps(rangeSteps(range, names));
  }, [names, selected, show]);
  const put = useCallback(
    (end: End, place: number, rests: boolean) => {
      const now = latest.current ?? selected ?? { first: 0, last: names.length - 1 };
      clearTimeout(timer.current);
      show(withEnd(now, end, place, names.length));
      if (rests) rest();
    },
    [names, selected, show, rest],
  );
  const move = useCallback(
    (end: End, by: number) => {
      const now = latest.current ?? selected ?? { first: 0, last: names.length - 1 };
      put(end, now[end] + by, false);
      timer.current = setTimeout(rest, REST_MS);
    },
    [names, selected, put, rest],
  );
  return { range: draft ?? selected, isMoving: draft !== null, put, move, rest };
}
