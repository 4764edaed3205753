/** Finds names on the timeline: how many, which of them, and from one to the next. */
import { useEffect, useState, type RefObject } from "react";

import type { TimelineSearchAnswer } from "../generated/schema";
import { formatNumber } from "../lib/format";

interface Props {
  readonly field: RefObject<HTMLInputElement | null>;
  readonly text: string;
  readonly answer: TimelineSearchAnswer | null;
  /** The worker that is searched, when there are several. */
  readonly worker: string | null;
  readonly onText: (text: string) => void;
  readonly onStep: (direction: 1 | -1) => void;
}

const TYPING_MS = 250;

export function SearchField({ field, text, answer, worker, onText, onStep }: Props) {
  const [typed, setTyped] = useState(text);
  const [asked, setAsked] = useState(text);
  if (asked !== text) {
    // The address changed from outside: a link, or back.
    setAsked(text);
    setTyped(text);
  }
  useEffect(() => {
    if (typed === text) return;
    const timer = setTimeout(() => onText(typed), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed, text, onText]);
  const count = answer?.count ?? 0;
  return (
    <span className="tl-search" role="search">
      <input
        ref={field}
        type="search"
        className="field"
        placeholder="Find on the timeline  ( / )"
        aria-label="Find on the timeline"
        value={typed}
        onChange={({ target }) => setTyped(target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") {
            // Back to the timeline with the hits as they are; the browser would empty the field.
            event.preventDefault();
            event.currentTarget.blur();
          }
          if (event.key !== "Enter") return;
          if (typed === text) onStep(event.shiftKey ? -1 : 1);
          else onText(typed);
        }}
      />
      {text !== "" && (
        <>
          <span className="soft tl-count" role="status" title={answer === null ? "" : `${formatNumber(answer.name_count)} different names`}>
            {answer === null ? "…" : count === 0 ? "none" : `${formatNumber(Math.max(1, answer.position ?? 1))} of ${formatNumber(count)}`}
          </span>
          {worker !== null && (
            <span className="soft tl-searched" title="Hits are counted and walked through in the worker of the selected slice, and highlighted in all">
              in {worker}
            </span>
          )}
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
