/** The part of the trace every view looks at: steps or a time range, as a chip that can be taken away. */
import { useState, type SyntheticEvent } from "react";

import { exactValue, formatValue } from "../lib/format";
import { navigate, useParams } from "../state/urlStore";
import type { Params } from "../state/address";
import { CloseIcon } from "./icons";
import { Popover } from "./Popover";

export function SelectionControl() {
  const params = useParams();
  const text = selectionText(params);
  return (
    <>
      {text !== null && (
        <span className="chip" title={selectionTitle(params)}>
          {text}
          <button
            type="button"
            className="button quiet icon"
            aria-label="Remove the selection"
            title="Look at the whole trace again"
            onClick={() => navigate({ steps: null, start_us: null, end_us: null })}
          >
            <CloseIcon />
          </button>
        </span>
      )}
      <Popover label={text === null ? "Whole trace ▾" : "▾"} title="Choose steps or a time range" align="left">
        {(close) => <SelectionForm params={params} onDone={close} />}
      </Popover>
    </>
  );
}

/** "Steps 5:8", "a range of 12.3 ms", or null for everything. */
export function selectionText(params: Params): string | null {
  const { steps, start_us: start, end_us: end } = params as Record<string, string | undefined>;
  const parts: string[] = [];
  if (steps !== undefined) parts.push(/[:,]/.test(steps) ? `Steps ${steps}` : `Step ${steps}`);
  if (start !== undefined && end !== undefined) parts.push(`${formatValue(Number(end) - Number(start), "us")} of time`);
  else if (start !== undefined) parts.push("from a time on");
  else if (end !== undefined) parts.push("until a time");
  return parts.length > 0 ? parts.join(", ") : null;
}

/** The exact range: trace time is counted from an arbitrary moment, so it is no text for the bar. */
export function selectionTitle(params: Params): string {
  const edge = (key: string) => (params[key] === undefined ? "open" : exactValue(Number(params[key]), "us"));
  const time = "start_us" in params || "end_us" in params ? `\nTrace time ${edge("start_us")} to ${edge("end_us")}` : "";
  return `Every view shows only this part of the trace.${time}`;
}

/** A whole or decimal number, as trace files write `ts`. */
const MICROSECONDS = String.raw`\s*-?\d+(\.\d+)?\s*`;

function SelectionForm({ params, onDone }: { readonly params: Params; readonly onDone: () => void }) {
  const [steps, setSteps] = useState(params["steps"] ?? "");
  const [start, setStart] = useState(params["start_us"] ?? "");
  const [end, setEnd] = useState(params["end_us"] ?? "");
  const apply = (event: SyntheticEvent) => {
    event.preventDefault();
    navigate({ steps: steps.trim(), start_us: start.trim(), end_us: end.trim() });
    onDone();
  };
  return (
    <form className="selection-form" onSubmit={apply}>
      <label>
        Steps
        <input className="field" autoFocus placeholder="5 or 5:8 or 3,5:8" value={steps} onChange={({ target }) => setSteps(target.value)} />
      </label>
      <label>
        From, µs
        <input className="field" inputMode="decimal" pattern={MICROSECONDS} placeholder="the beginning" value={start} onChange={({ target }) => setStart(target.value)} />
      </label>
      <label>
        To, µs
        <input className="field" inputMode="decimal" pattern={MICROSECONDS} placeholder="the end" value={end} onChange={({ target }) => setEnd(target.value)} />
      </label>
      <p className="soft">Times as in the trace file (ts). Or drag over a chart of steps or of time, then “Use this range as selection”.</p>
      <button type="submit" className="button">
        Use as selection
      </button>
    </form>
  );
}
