/** The search field: number of hits, the current one, and buttons to the previous and next. */
import { useEffect, useState, type RefObject } from "react";

import { formatNumber } from "../lib/format";
import type { StackResult } from "./findInStack";

interface Props {
  readonly field: RefObject<HTMLInputElement | null>;
  readonly text: string;
  readonly result: StackResult | null;
  /** How many workers are searched. */
  readonly workers: number;
  /** Called with the typed text; with a direction, to go to a hit of it. */
  readonly onSearch: (text: string, direction: 1 | -1 | null) => void;
  readonly onStep: (direction: 1 | -1) => void;
  /** Back to the tracks. */
  readonly onLeave: () => void;
}

const TYPING_MS = 250;

export function SearchField({ field, text, result, workers, onSearch, onStep, onLeave }: Props) {
  const [typed, setTyped] = useState(text);
  const [addressText, setAddressText] = useState(text);
  if (addressText !== text) {
    // The address changed from outside: a link, or back.
    setAddressText(text);
    setTyped(text);
  }
  useEffect(() => {
    if (typed === text) return;
    const timer = setTimeout(() => onSearch(typed, null), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed, text, onSearch]);
  const count = result?.count ?? 0;
  return (
    <span className="tl-search" role="search">
      <input
        ref={field}
        type="search"
        className="field"
        placeholder="Find slices ( / )"
        aria-label="Find on the timeline"
        value={typed}
        onChange={({ target }) => setTyped(target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") {
            // Back to the timeline with the hits as they are; the browser would empty the field.
            event.preventDefault();
            onLeave();
          }
          // Also before there is an answer: the jump waits for it.
          if (event.key === "Enter") onSearch(typed, event.shiftKey ? -1 : 1);
        }}
      />
      {text !== "" && (
        <>
          <span className={`${result === null || result.problems.length === 0 ? "soft" : "tl-warns"} tl-count`} role="status" title={result === null ? "" : countHelp(result, workers)}>
            {result === null ? "…" : count === 0 ? "none" : `${formatNumber(Math.max(1, result.position))} of ${formatNumber(count)}`}
          </span>
          <button type="button" className="button icon" aria-label="Previous hit" title="Previous hit (N)" disabled={count === 0} onClick={() => onStep(-1)}>
            ◂
          </button>
          <button type="button" className="button icon" aria-label="Next hit" title="Next hit (n)" disabled={count === 0} onClick={() => onStep(1)}>
            ▸
          </button>
        </>
      )}
    </span>
  );
}

function countHelp({ nameCount, problems }: StackResult, workers: number): string {
  const names = `${formatNumber(nameCount)} different ${nameCount === 1 ? "name" : "names"}`;
  const where = workers === 1 ? names : `${names} on ${formatNumber(workers)} ranks, one after the other on the common clock`;
  return [where, ...problems.map((problem) => `Not counted: ${problem}`)].join("\n");
}
