/** Which trace the one in the bar above is compared with. */
import { navigate, useParams } from "../state/urlStore";
import type { Target } from "../state/target";

export interface Baseline {
  readonly run: string;
  readonly worker: string;
  readonly span: string;
}

interface Props {
  readonly choices: readonly Baseline[];
  readonly baseline: Baseline;
  readonly target: Target;
  readonly onSwap: () => void;
}

export function BaselinePicker({ choices, baseline, target, onSwap }: Props) {
  const params = useParams();
  const candidate = choices.find(
    ({ run, worker, span }) => run === target.run.name && worker === target.worker.name && span === target.span.name,
  );
  return (
    <section className="card" aria-label="Compared traces">
      <div className="body compare-pick">
        <TracePicker
          label="Baseline"
          choices={choices}
          chosen={baseline}
          onPick={({ run, worker, span }) => navigate({ baseline_run: run, baseline_worker: worker, baseline_span: span, baseline_steps: null })}
        />
        <label>
          <span>Its steps</span>
          <input
            className="field"
            placeholder="all"
            defaultValue={params["baseline_steps"] ?? ""}
            onKeyDown={(event) => {
              if (event.key === "Enter") event.currentTarget.blur();
            }}
            onBlur={({ target: { value } }) => {
              if (value.trim() !== (params["baseline_steps"] ?? "")) navigate({ baseline_steps: value.trim() });
            }}
          />
        </label>
        <span className="soft">→</span>
        <TracePicker
          label="Candidate"
          choices={choices}
          chosen={candidate}
          onPick={({ run, worker, span }) =>
            navigate({ run, worker, span, steps: null, start_us: null, end_us: null, ...asBaseline(baseline) })
          }
        />
        <button type="button" className="button" onClick={onSwap}>
          Swap
        </button>
      </div>
    </section>
  );
}

interface TracePickerProps {
  readonly label: string;
  readonly choices: readonly Baseline[];
  readonly chosen: Baseline | undefined;
  readonly onPick: (choice: Baseline) => void;
}

function TracePicker({ label, choices, chosen, onPick }: TracePickerProps) {
  return (
    <label>
      <span>{label}</span>
      <select
        className="field"
        aria-label={label}
        value={chosen === undefined ? "" : choices.indexOf(chosen)}
        onChange={({ target: { value } }) => {
          const next = choices[Number(value)];
          if (next !== undefined) onPick(next);
        }}
      >
        {choices.map((choice, index) => (
          <option key={index} value={index}>
            {choiceTitle(choice, choices)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Written out, so that another candidate does not bring another default baseline. */
function asBaseline({ run, worker, span }: Baseline) {
  return { baseline_run: run, baseline_worker: worker, baseline_span: span };
}

/** As much of run, worker and span as tells the traces apart. */
function choiceTitle({ run, worker, span }: Baseline, choices: readonly Baseline[]): string {
  const workers = new Set(choices.filter((each) => each.run === run).map((each) => each.worker));
  const spans = new Set(choices.filter((each) => each.run === run && each.worker === worker).map((each) => each.span));
  return [run, ...(workers.size > 1 ? [worker] : []), ...(spans.size > 1 ? [`span ${span}`] : [])].join(" ▸ ");
}
