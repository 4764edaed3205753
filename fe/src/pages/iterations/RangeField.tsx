/** One end of the selected range as a number: typed, or moved by arrow keys and the wheel. */
import { useState } from "react";

import { visibleText } from "../../lib/visibleText";
import { keyStep, placeOf, type End } from "./range";
import { END_TITLES } from "./RangeBorder";
import type { RangeDraft } from "./useRangeDraft";
import { useWheel } from "./useWheel";

interface Props {
  readonly end: End;
  readonly place: number;
  readonly names: readonly string[];
  readonly draft: RangeDraft;
}

export function RangeField({ end, place, names, draft }: Props) {
  // Null while nothing is being typed.
  const [typed, setTyped] = useState<string | null>(null);
  const name = names[place] ?? "";
  const element = useWheel<HTMLInputElement>((by) => {
    setTyped(null);
    draft.move(end, by);
  });
  const meant = typed === null ? place : placeOf(typed, names);
  const take = () => {
    setTyped(null);
    if (typed !== null && meant !== null) draft.put(end, meant, true);
  };
  return (
    <label>
      {end === "first" ? "from" : "to"}
      <input
        ref={element}
        className="field"
        type="text"
        inputMode="numeric"
        role="spinbutton"
        aria-label={END_TITLES[end]}
        aria-valuemin={1}
        aria-valuemax={names.length}
        aria-valuenow={place + 1}
        aria-valuetext={visibleText(name)}
        aria-invalid={meant === null}
        title={meant === null ? "No iteration is called so" : "Type a number, turn the wheel, or use the arrow keys"}
        value={typed ?? name}
        onChange={({ target }) => setTyped(target.value)}
        onKeyDown={(event) => {
          const step = /^(Arrow(Up|Down)|Page(Up|Down))$/.test(event.key) ? keyStep(event.key, names.length) : null;
          if (event.key === "Enter") take();
          else if (event.key === "Escape") setTyped(null);
          else if (step !== null) {
            event.preventDefault();
            setTyped(null);
            draft.move(end, step);
          }
        }}
        onBlur={() => {
          take();
          draft.rest();
        }}
      />
    </label>
  );
}
