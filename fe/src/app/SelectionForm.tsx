/** A form for the selected steps or time range, with the available ones. */
import { useId, useState, type SyntheticEvent } from "react";

import { useAnswer, useView } from "../api/hooks";
import type { TimelineTracksAnswer } from "../generated/schema";
import { visibleText } from "../lib/visibleText";
import type { Params } from "../state/address";
import { iterationsByText } from "../state/iterationsBy";
import { iterationsByQuery } from "../state/selection";
import { traceQuery, type Target } from "../state/target";
import { navigate } from "../state/urlStore";
import { PAGE_ROWS } from "../table/useRows";
import { readSteps } from "./stepsQuery";
import { clockOf, endText, parseTime, RAW_CLOCK, shownTime, stepsText, type TraceClock } from "./traceClock";

interface Props {
  readonly params: Params;
  readonly target: Target;
  readonly onDone: () => void;
  /** Opens the choice of iterations. */
  readonly onChooseIterations: () => void;
}

export function SelectionForm({ params, target, onDone, onChooseIterations }: Props) {
  const names = useSteps(target, params);
  const iterations = iterationsByText(params["iterations_by"]);
  const noun = iterations === null ? "step" : "iteration";
  const clock = useClock(target);
  const [steps, setSteps] = useState(params["steps"] ?? "");
  const [problem, setProblem] = useState<string | null>(null);
  const problemId = useId();
  // Null while untouched: then the value in the address stays exactly as it is.
  const [start, setStart] = useState<string | null>(null);
  const [end, setEnd] = useState<string | null>(null);
  const timeParam = (typed: string | null, key: string) => (typed === null || clock === null ? params[key] : parseTime(typed, clock));
  const apply = async () => {
    const reading = await readSteps(steps, target, params);
    if ("problem" in reading) {
      setProblem(reading.problem);
      return;
    }
    navigate({ steps: reading.steps, start_us: timeParam(start, "start_us"), end_us: timeParam(end, "end_us") });
    onDone();
  };
  const time = (typed: string | null, key: string) => typed ?? (clock === null ? "" : shownTime(params[key], clock));
  return (
    <form
      className="selection-form"
      onSubmit={(event: SyntheticEvent) => {
        event.preventDefault();
        void apply();
      }}
    >
      <p className="soft">
        {iterations === null ? "Iterations are the steps of the trace." : `${visibleText(iterations)}.`}{" "}
        <button type="button" className="frame-link" onClick={onChooseIterations}>
          Choose how they are split …
        </button>
      </p>
      <label>
        {iterations === null ? "Steps" : "Iterations"}
        <input
          className="field"
          autoFocus
          placeholder={stepsPlaceholder(names)}
          value={steps}
          aria-invalid={problem !== null}
          aria-describedby={problemId}
          onChange={(event) => {
            setSteps(event.target.value);
            setProblem(null);
          }}
        />
      </label>
      <p id={problemId} role="status" className={problem === null ? "soft" : "problem"}>
        {problem === null ? "Such as 5, 3-5, 3,5:8, first 3 or last 3." : visibleText(problem)}
      </p>
      {/* The problem lists them itself. */}
      {problem === null && names !== null && names.length > 0 && <p className="soft">This trace has {names.length === 1 ? noun : `${noun}s`} {stepsText(names)}.</p>}
      <TimeField label="From" clock={clock} placeholder={clock?.lengthUs == null ? "the beginning" : "0"} value={time(start, "start_us")} onChange={setStart} />
      <TimeField label="To" clock={clock} placeholder={clock === null ? "" : endText(clock)} value={time(end, "end_us")} onChange={setEnd} />
      <p className="soft">{clock === null ? "Loading the length of the recording …" : clockHelp(clock)}</p>
      <button type="submit" className="button">
        Use as selection
      </button>
    </form>
  );
}

interface TimeFieldProps {
  readonly label: string;
  readonly clock: TraceClock | null;
  readonly placeholder: string;
  readonly value: string;
  readonly onChange: (text: string) => void;
}

function TimeField({ label, clock, placeholder, value, onChange }: TimeFieldProps) {
  return (
    <label>
      {label}
      {clock !== null && `, ${clock.scale.label}`}
      <input
        className="field"
        inputMode="decimal"
        disabled={clock === null}
        placeholder={placeholder}
        value={value}
        onChange={({ target }) => {
          const isTime = clock === null || parseTime(target.value, clock) !== null;
          target.setCustomValidity(isTime ? "" : "A time such as 12.5, 12.5 ms or 3 s");
          onChange(target.value);
        }}
      />
    </label>
  );
}

function clockHelp(clock: TraceClock): string {
  const other = "Or drag over a chart of steps.";
  if (clock.lengthUs === null) return `Times as in the trace file (ts). ${other}`;
  return `Time counts from the beginning of the recording, as on the timeline: 0 to ${endText(clock)} ${clock.scale.label}. ${other}`;
}

function stepsPlaceholder(names: readonly string[] | null): string {
  const [first, last] = [names?.[0], names?.at(-1)];
  if (first === undefined || last === undefined) return "5 or 5-8";
  return first === last ? first : `${first} or ${first}-${last}`;
}

/** The names of the steps of the whole trace; null until they are known. */
function useSteps(target: Target, params: Params): readonly string[] | null {
  const answer = useView("overview", { ...traceQuery(target), ...iterationsByQuery(params), limit: PAGE_ROWS });
  const table = answer.state === "ready" ? answer.data.tables["steps"] : undefined;
  const index = table?.columns.findIndex(({ key }) => key === "step") ?? -1;
  return table === undefined || index < 0 ? null : table.rows.map((row) => String(row[index] ?? ""));
}

/** The clock of the trace; null until it is known. */
function useClock(target: Target): TraceClock | null {
  const answer = useAnswer<TimelineTracksAnswer>("timeline/tracks", traceQuery(target));
  if (answer.state === "ready") return clockOf(answer.data.origin_us, answer.data.end_ns);
  return answer.state === "failed" ? RAW_CLOCK : null;
}
