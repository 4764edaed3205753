/** The part of the trace every view looks at: steps or a time range, as a chip that can be taken away. */
import { useState, type FormEvent } from "react";

import { formatValue } from "../lib/format";
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
        <span className="chip" title="Every view shows only this part of the trace">
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

/** "Steps 5:8", "12.3 ms – 40 ms", or null for everything. */
export function selectionText(params: Params): string | null {
  const parts: string[] = [];
  const { steps, start_us: start, end_us: end } = params as Record<string, string | undefined>;
  if (steps !== undefined) parts.push(/[:,]/.test(steps) ? `Steps ${steps}` : `Step ${steps}`);
  const time = (value: string) => formatValue(Number(value), "us");
  if (start !== undefined && end !== undefined) parts.push(`${time(start)} – ${time(end)}`);
  else if (start !== undefined) parts.push(`from ${time(start)}`);
  else if (end !== undefined) parts.push(`until ${time(end)}`);
  return parts.length > 0 ? parts.join(", ") : null;
}

const US_PER_MS = 1000;

function toMs(us: string | undefined): string {
  return us === undefined ? "" : String(Number(us) / US_PER_MS);
}

function toUs(ms: string): string | null {
  const number = Number(ms);
  return ms.trim() === "" || Number.isNaN(number) ? null : String(number * US_PER_MS);
}

function SelectionForm({ params, onDone }: { readonly params: Params; readonly onDone: () => void }) {
  const [steps, setSteps] = useState(params["steps"] ?? "");
  const [start, setStart] = useState(toMs(params["start_us"]));
  const [end, setEnd] = useState(toMs(params["end_us"]));
  const apply = (event: FormEvent) => {
    event.preventDefault();
    navigate({ steps: steps.trim(), start_us: toUs(start), end_us: toUs(end) });
    onDone();
  };
  return (
    <form className="selection-form" onSubmit={apply}>
      <label>
        Steps
        <input className="field" autoFocus placeholder="5 or 5:8 or 3,5:8" value={steps} onChange={({ target }) => setSteps(target.value)} />
      </label>
      <label>
        From (ms)
        <input className="field" inputMode="decimal" value={start} onChange={({ target }) => setStart(target.value)} />
      </label>
      <label>
        To (ms)
        <input className="field" inputMode="decimal" value={end} onChange={({ target }) => setEnd(target.value)} />
      </label>
      <p className="soft">Times count from the start of the trace. Dragging over a chart of steps or time selects too.</p>
      <button type="submit" className="button">
        Use as selection
      </button>
    </form>
  );
}
