/** The part of the trace every view looks at: steps or a time range, as a chip that can be taken away. */
import { exactValue, formatValue } from "../lib/format";
import { navigate, useParams } from "../state/urlStore";
import type { Params } from "../state/address";
import type { Target } from "../state/target";
import { CloseIcon } from "./icons";
import { Popover } from "./Popover";
import { SelectionForm } from "./SelectionForm";

export function SelectionControl({ target }: { readonly target: Target }) {
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
        {(close) => <SelectionForm params={params} target={target} onDone={close} />}
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
