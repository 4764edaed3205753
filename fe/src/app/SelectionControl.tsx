/** The selected part of the trace and the choice of iterations, as removable chips. */
import { useRef, useState, type ReactNode } from "react";

import { exactValue, formatValue } from "../lib/format";
import { shortenMiddle } from "../lib/shorten";
import { visibleText } from "../lib/visibleText";
import { KeyNodeDialog } from "../pages/iterationsBy/KeyNodeDialog";
import { setIterationsBy } from "../pages/iterationsBy/useKeyNodes";
import type { Params } from "../state/address";
import { iterationsByText } from "../state/iterationsBy";
import { NO_PART } from "../state/selection";
import type { Target } from "../state/target";
import { navigate, useParams } from "../state/urlStore";
import { CloseIcon } from "../ui/icons";
import { Popover } from "../ui/Popover";
import { readPart } from "./readPart";
import { SelectionForm } from "./SelectionForm";

/** Length of a name in the bar; its title has the full name. */
const MAX_CHARACTERS = 40;

export function SelectionControl({ target }: { readonly target: Target }) {
  const params = useParams();
  const [isChoosing, setChoosing] = useState(false);
  const opener = useRef<HTMLSpanElement>(null);
  const text = selectionText(params);
  const iterations = iterationsByText(params["iterations_by"]);
  return (
    <>
      {target.span.read_part !== null && (
        <Chip
          kind="part"
          title={`Only this part of the recording was read.\n${visibleText(target.span.read_part)}`}
          remove="Read all of it"
          onRemove={() => void readPart(target, {})}
        >
          {visibleText(`Only ${target.span.read_part}`)}
        </Chip>
      )}
      {iterations !== null && (
        <Chip kind="cut" title={`Every view uses these iterations.\n${visibleText(iterations)}`} remove="Use the steps of the trace again" onRemove={() => setIterationsBy()}>
          {shortenMiddle(visibleText(iterations), MAX_CHARACTERS)}
        </Chip>
      )}
      {text !== null && (
        <Chip kind="part" title={selectionTitle(params)} remove="Remove the selection" onRemove={() => navigate(NO_PART)}>
          {visibleText(text)}
        </Chip>
      )}
      <span ref={opener}>
        <Popover label={<>{text === null && (target.span.read_part === null ? "Whole trace" : "Whole part")}<span className="no-print"> ▾</span></>} title="Choose steps or a time range" align="left">
          {(close) => (
            <SelectionForm
              params={params}
              target={target}
              onDone={close}
              onChooseIterations={() => {
                // The dialog returns the focus to the element that had it, so that must outlive the popover.
                opener.current?.querySelector("button")?.focus();
                close();
                setChoosing(true);
              }}
            />
          )}
        </Popover>
      </span>
      <KeyNodeDialog target={target} open={isChoosing} onClose={() => setChoosing(false)} />
    </>
  );
}

interface ChipProps {
  readonly kind: "cut" | "part";
  readonly title: string;
  /** What the button does. */
  readonly remove: string;
  readonly onRemove: () => void;
  readonly children: ReactNode;
}

function Chip({ kind, title, remove, onRemove, children }: ChipProps) {
  return (
    <span className={`chip ${kind}`} title={title}>
      <span>{children}</span>
      <button type="button" className="button quiet icon" aria-label={remove} title={remove} onClick={onRemove}>
        <CloseIcon />
      </button>
    </span>
  );
}

/** "Steps 5–8", "12.3 ms range", or null for everything. */
export function selectionText(params: Params): string | null {
  const { steps, start_us: start, end_us: end, phase, domain } = params as Record<string, string | undefined>;
  const parts: string[] = [];
  const one = iterationsByText(params["iterations_by"]) === null ? "Step" : "Iteration";
  if (steps !== undefined) parts.push(`${one}${/^\d+$/.test(steps) ? "" : "s"} ${steps.replace(/(\d):(\d)/g, "$1–$2")}`);
  if (start !== undefined && end !== undefined) parts.push(`${formatValue(Number(end) - Number(start), "us")} range`);
  else if (start !== undefined) parts.push("from a start time");
  else if (end !== undefined) parts.push("up to an end time");
  if (phase !== undefined) parts.push(`phase ${phase}`);
  if (domain !== undefined) parts.push(`domain ${visibleText(domain)}`);
  if (params["forward_start"] !== undefined || params["backward_end"] !== undefined) parts.push("custom phase boundaries");
  return parts.length > 0 ? parts.join(", ") : null;
}

/** The exact range, for hovering: trace time counts from an arbitrary moment and would be unreadable in the bar. */
export function selectionTitle(params: Params): string {
  const edge = (key: string) => (params[key] === undefined ? "open" : exactValue(Number(params[key]), "us"));
  const time = "start_us" in params || "end_us" in params ? `\nTrace time ${edge("start_us")} to ${edge("end_us")}` : "";
  const named = ["forward_start", "backward_end"].flatMap((key) => (params[key] === undefined ? [] : [`\n${key} ${visibleText(params[key])}`]));
  return `Every view shows only this part of the trace.${time}${named.join("")}`;
}
