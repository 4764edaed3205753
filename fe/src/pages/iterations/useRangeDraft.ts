/** The range during a change: drawn immediately, and written to the address when the change ends. */
import { useCallback, useEffect, useRef, useState } from "react";

import { NO_TIME } from "../../state/selection";
import { navigate } from "../../state/urlStore";
import { rangeSteps, withEnd, type End, type Range } from "./range";

/** Delay after the last turn of the wheel or key press. */
const REST_MS = 300;

export interface RangeDraft {
  /** The shown range: the draft, else the selection. */
  readonly range: Range | null;
  readonly isMoving: boolean;
  /** Sets one end to an index; `rests` ends the change immediately. */
  readonly put: (end: End, index: number, rests: boolean) => void;
  /** Shows a range that is being dragged over the bars, from one index to another. */
  readonly drag: (from: number, to: number) => void;
  /** Moves one end by a number of iterations. */
  readonly move: (end: End, by: number) => void;
  /** Ends the change. */
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
    (end: End, index: number, rests: boolean) => {
      const now = latest.current ?? selected ?? { first: 0, last: names.length - 1 };
      clearTimeout(timer.current);
      show(withEnd(now, end, index, names.length));
      if (rests) rest();
    },
    [names, selected, show, rest],
  );
  const drag = useCallback(
    (from: number, to: number) => {
      clearTimeout(timer.current);
      show({ first: Math.min(from, to), last: Math.max(from, to) });
    },
    [show],
  );
  const move = useCallback(
    (end: End, by: number) => {
      const now = latest.current ?? selected ?? { first: 0, last: names.length - 1 };
      put(end, now[end] + by, false);
      timer.current = setTimeout(rest, REST_MS);
    },
    [names, selected, put, rest],
  );
  return { range: draft ?? selected, isMoving: draft !== null, put, drag, move, rest };
}
