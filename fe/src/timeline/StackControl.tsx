/** Which workers of the run are drawn below each other. */
import { useState } from "react";

import { navigate } from "../state/urlStore";
import { Popover } from "../ui/Popover";
import type { Recording } from "./secondRecording";
import { SecondRecordingControl } from "./SecondRecordingControl";
import { formatStack } from "./link";
import { RanksForm } from "./RanksForm";
import { useRecordings } from "./useRecordings";

interface Props {
  /** The worker of the page: always stacked, first. */
  readonly worker: string;
  /** The others of the run with a trace of the same span. */
  readonly others: readonly string[];
  readonly stacked: readonly string[];
}

export function StackControl({ worker, others, stacked, own }: Props & { readonly own: Recording }) {
  const recordings = useRecordings(own);
  if (others.length === 0 && recordings.length === 0) return null;
  const label = others.length === 0 ? "Stack" : stacked.length === 0 ? "Stack ranks" : `${stacked.length + 1} ranks stacked`;
  return (
    <Popover label={`${label} ▾`} title="Draw several ranks below each other on one clock, or another recording below this one">
      {(close) => (
        <>
          {others.length > 0 && <RanksForm own={own} onDone={close} />}
          {others.length > 0 && <StackForm worker={worker} others={others} stacked={stacked} onDone={close} />}
          <SecondRecordingControl others={recordings} onDone={close} />
        </>
      )}
    </Popover>
  );
}

/** With more workers there is a field to filter them. */
const FILTER_FROM = 12;

function StackForm({ worker, others, stacked, onDone }: Props & { readonly onDone: () => void }) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set(stacked));
  const [filter, setFilter] = useState("");
  const toggle = (name: string, isOn: boolean) => {
    const next = new Set(chosen);
    if (isOn) next.add(name);
    else next.delete(name);
    setChosen(next);
  };
  // Times on screen count from the earliest worker: they change meaning with the stack.
  const apply = (names: readonly string[]) => {
    navigate({ stack: formatStack(names), on: null, slice: null, at: null, range: null, open: null, shut: null, pin: null, order: null });
    onDone();
  };
  return (
    <form
      className="menu tl-stack"
      onSubmit={(event) => {
        event.preventDefault();
        apply(others.filter((name) => chosen.has(name)));
      }}
    >
      <strong>Ranks with all tracks</strong>
      {others.length > FILTER_FROM && <input className="field" placeholder="Filter workers" aria-label="Filter workers" value={filter} onChange={({ target }) => setFilter(target.value)} />}
      <div className="tl-stack-list">
        <label>
          <input type="checkbox" checked disabled /> {worker}
        </label>
        {others
          .filter((name) => name.toLowerCase().includes(filter.toLowerCase()))
          .map((name) => (
            <label key={name}>
              <input type="checkbox" checked={chosen.has(name)} onChange={({ target }) => toggle(name, target.checked)} /> {name}
            </label>
          ))}
      </div>
      <small className="soft">With all tracks, aligned on the ends of their collectives. Each is a recording that the server reads.</small>
      <span className="tl-stack-buttons">
        <button type="submit" className="button">
          Show
        </button>
        <button type="button" className="button" onClick={() => setChosen(new Set(others))}>
          All
        </button>
        <button type="button" className="button" disabled={stacked.length === 0} onClick={() => apply([])}>
          Only {worker}
        </button>
      </span>
    </form>
  );
}
