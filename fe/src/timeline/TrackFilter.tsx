/** The corner above the names of the tracks: a filter, and buttons that open or close all. */
import { useEffect, useState } from "react";

import { MAX_FILTER } from "./arrangement";
import { ALL_CLOSED, ALL_OPEN, type Folding } from "./layout";

interface Props {
  readonly filter: string;
  readonly onFilter: (text: string) => void;
  readonly onFoldAll: (folding: Folding) => void;
}

const TYPING_MS = 200;

export function TrackFilter({ filter, onFilter, onFoldAll }: Props) {
  const [typed, setTyped] = useState(filter);
  const [shown, setShown] = useState(filter);
  if (shown !== filter) {
    // The address changed from outside: a link, or back.
    setShown(filter);
    setTyped(filter);
  }
  useEffect(() => {
    if (typed === filter) return;
    const timer = setTimeout(() => onFilter(typed), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed, filter, onFilter]);
  return (
    <div className="tl-corner">
      <input
        type="search"
        className="field"
        placeholder="Filter tracks"
        aria-label="Filter tracks by name"
        maxLength={MAX_FILTER}
        value={typed}
        onChange={({ target }) => setTyped(target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") onFilter(typed);
          if (event.key !== "Escape") return;
          event.preventDefault();
          onFilter("");
          event.currentTarget.blur();
        }}
      />
      <button type="button" className="button icon" aria-label="Close all tracks" title="Close all tracks and groups" onClick={() => onFoldAll(ALL_CLOSED)}>
        ▸
      </button>
      <button type="button" className="button icon" aria-label="Open all tracks" title="Open all tracks and groups" onClick={() => onFoldAll(ALL_OPEN)}>
        ▾
      </button>
    </div>
  );
}
