/** The choice of baseline and candidate; it stays when the comparison fails, so that others can be chosen. */
import { NO_BASELINE_SELECTION, NO_TIME } from "../../state/selection";
import type { Target } from "../../state/target";
import { navigate, useParams } from "../../state/urlStore";
import { baselineParams, isSame, thirdOf, thirdParams, traceOf, type Baseline, type Choice } from "./baseline";

interface Props {
  readonly choices: readonly Choice[];
  /** Null when the address names an unknown one. */
  readonly baseline: Baseline | null;
  readonly target: Target;
  /** The run that is marked as baseline. */
  readonly marked: Baseline | null;
  readonly onMark: (trace: Baseline | null) => void;
}

export function BaselinePicker({ choices, baseline, target, marked, onMark }: Props) {
  const params = useParams();
  const candidate = traceOf(target);
  const { baseline_steps: baselineSteps, steps, start_us: start, end_us: end } = params as Record<string, string | undefined>;
  const { baseline_iterations_by: baselineIterations, iterations_by: iterations } = params as Record<string, string | undefined>;
  const isSameSelection = baseline !== null && isSame(baseline, candidate) && baselineSteps === steps && (baselineIterations ?? iterations) === iterations && start === undefined && end === undefined;
  const swap = ({ run, worker, span }: Baseline) =>
    navigate({
      ...{ run, worker, span, ...NO_TIME, steps: baselineSteps },
      ...{ ...baselineParams(candidate), baseline_steps: steps },
      // Without its own parameter the baseline has the iterations of the candidate.
      ...(baselineIterations === undefined ? {} : { iterations_by: baselineIterations, baseline_iterations_by: iterations ?? "default" }),
    });
  return (
    <section className="card" aria-label="Compared traces">
      <div className="body compare-pick">
        <TracePicker
          label="Baseline"
          choices={choices}
          chosen={baseline}
          onPick={(choice) => navigate({ ...baselineParams(choice), ...NO_BASELINE_SELECTION })}
        />
        <BaselineSteps steps={baselineSteps} />
        <span className="soft">→</span>
        <TracePicker
          label="Candidate"
          choices={choices}
          chosen={candidate}
          onPick={({ run, worker, span }) =>
            // The baseline is written out, as another candidate has another default baseline.
            navigate({ run, worker, span, ...NO_TIME, ...(baseline === null ? {} : baselineParams(baseline)) })
          }
        />
        <button type="button" className="button" disabled={baseline === null} onClick={() => baseline !== null && swap(baseline)}>
          Swap
        </button>
        {baseline !== null && <MarkButton baseline={baseline} marked={marked} onMark={onMark} />}
        <ThirdPicker choices={choices} third={thirdOf(choices, params)} others={baseline === null ? [candidate] : [baseline, candidate]} />
        {isSameSelection && <span className="soft">Baseline and candidate are the same: choose another trace, or other steps.</span>}
      </div>
    </section>
  );
}

function MarkButton({ baseline, marked, onMark }: { readonly baseline: Baseline } & Pick<Props, "marked" | "onMark">) {
  const isMarked = marked !== null && isSame(marked, baseline);
  return (
    <button
      type="button"
      className="button"
      aria-pressed={isMarked}
      title="Compare opens with the marked run as baseline, in this browser."
      onClick={() => onMark(isMarked ? null : baseline)}
    >
      {isMarked ? "Marked as baseline" : "Mark as baseline"}
    </button>
  );
}

interface ThirdPickerProps {
  readonly choices: readonly Choice[];
  readonly third: Choice | null;
  /** The two sides that it stands beside. */
  readonly others: readonly Baseline[];
}

/** A third side, compared with the same baseline. Nothing to choose with two traces. */
function ThirdPicker({ choices, third, others }: ThirdPickerProps) {
  const offered = choices.filter((choice) => !others.some((other) => isSame(choice, other)));
  if (offered.length === 0 && third === null) return null;
  const index = third === null ? -1 : offered.findIndex((choice) => isSame(choice, third));
  return (
    <label>
      <span>Third side</span>
      <select className="field" aria-label="Third side" value={index} onChange={({ target: { value } }) => navigate(thirdParams(offered[Number(value)] ?? null))}>
        <option value={-1}>none</option>
        {offered.map((choice, position) => (
          <option key={position} value={position}>
            {traceTitle(choice, choices)}
          </option>
        ))}
      </select>
    </label>
  );
}

function BaselineSteps({ steps = "" }: { readonly steps: string | undefined }) {
  return (
    <label>
      <span>Baseline steps</span>
      <input
        // Remounted when the address changes, so that the field shows it.
        key={steps}
        className="field"
        placeholder="all"
        defaultValue={steps}
        onKeyDown={(event) => {
          if (event.key === "Enter") event.currentTarget.blur();
        }}
        onBlur={({ target: { value } }) => {
          if (value.trim() !== steps) navigate({ baseline_steps: value.trim() });
        }}
      />
    </label>
  );
}

interface TracePickerProps {
  readonly label: string;
  readonly choices: readonly Choice[];
  readonly chosen: Baseline | null;
  readonly onPick: (choice: Choice) => void;
}

function TracePicker({ label, choices, chosen, onPick }: TracePickerProps) {
  const index = chosen === null ? -1 : choices.findIndex((choice) => isSame(choice, chosen));
  return (
    <label>
      <span>{label}</span>
      <select
        className="field"
        aria-label={label}
        value={index}
        onChange={({ target: { value } }) => {
          const next = choices[Number(value)];
          if (next !== undefined) onPick(next);
        }}
      >
        {index < 0 && <option value={-1}>choose a trace</option>}
        {choices.map((choice, index) => (
          <option key={index} value={index}>
            {traceTitle(choice, choices)}
            {choice.failed && " (could not be read)"}
          </option>
        ))}
      </select>
    </label>
  );
}

/** As much of run, worker and span as distinguishes the traces. */
export function traceTitle({ run, worker, span }: Baseline, choices: readonly Choice[]): string {
  const workers = new Set(choices.filter((each) => each.run === run).map((each) => each.worker));
  const spans = new Set(choices.filter((each) => each.run === run && each.worker === worker).map((each) => each.span));
  return [run, ...(workers.size > 1 ? [worker] : []), ...(spans.size > 1 ? [`span ${span}`] : [])].join(" ▸ ");
}
