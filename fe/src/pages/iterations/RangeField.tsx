/** A field for one end of the selected range: typed, or moved by arrow keys and the wheel. */
import { useState } from "react";

import { visibleText } from "../../lib/visibleText";
import { keyStep, parseIndex, type End } from "./range";
import { END_TITLES } from "./RangeHandle";
import type { RangeDraft } from "./useRangeDraft";
import { useWheel } from "./useWheel";

interface Props {
  readonly end: End;
  readonly index: number;
  readonly names: readonly string[];
  readonly draft: RangeDraft;
}

export function RangeField({ end, index, names, draft }: Props) {
  // Null unless the user is typing.
  const [typed, setTyped] = useState<string | null>(null);
  const name = names[index] ?? "";
  const element = useWheel<HTMLInputElement>((by) => {
    setTyped(null);
    draft.move(end, by);
  });
  const typedIndex = typed === null ? index : parseIndex(typed, names);
  const commit = () => {
    setTyped(null);
    if (typed !== null && typedIndex !== null) draft.put(end, typedIndex, true);
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
        aria-valuenow={index + 1}
        aria-valuetext={visibleText(name)}
        aria-invalid={typedIndex === null}
        title={typedIndex === null ? "No such iteration" : "Type a number, turn the wheel, or use the arrow keys"}
        value={typed ?? name}
        onChange={({ target }) => setTyped(target.value)}
        onKeyDown={(event) => {
          const step = /^(Arrow(Up|Down)|Page(Up|Down))$/.test(event.key) ? keyStep(event.key, names.length) : null;
          if (event.key === "Enter") commit();
          else if (event.key === "Escape") setTyped(null);
          else if (step !== null) {
            event.preventDefault();
            setTyped(null);
            draft.move(end, step);
          }
        }}
        onBlur={() => {
          commit();
          draft.rest();
        }}
      />
    </label>
  );
}
