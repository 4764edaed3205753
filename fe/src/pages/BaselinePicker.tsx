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
  const place = choices.indexOf(baseline);
  return (
    <section className="card" aria-label="Compared traces">
      <div className="body compare-pick">
        <label>
          <span>Baseline</span>
          <select
            className="field"
            aria-label="Baseline"
            value={place}
            onChange={({ target: { value } }) => {
              const next = choices[Number(value)];
              if (next === undefined) return;
              navigate({ baseline_run: next.run, baseline_worker: next.worker, baseline_span: next.span, baseline_steps: null });
            }}
          >
            {choices.map((choice, index) => (
              <option key={index} value={index}>
                {choiceTitle(choice, choices)}
              </option>
            ))}
          </select>
        </label>
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
        <span className="soft">
          → candidate: {choiceTitle({ run: target.run.name, worker: target.worker.name, span: target.span.name }, choices)}
        </span>
        <button type="button" className="button" onClick={onSwap}>
          Swap
        </button>
      </div>
    </section>
  );
}

/** As much of run, worker and span as tells the traces apart. */
function choiceTitle({ run, worker, span }: Baseline, choices: readonly Baseline[]): string {
  const workers = new Set(choices.filter((each) => each.run === run).map((each) => each.worker));
  const spans = new Set(choices.filter((each) => each.run === run && each.worker === worker).map((each) => each.span));
  return [run, ...(workers.size > 1 ? [worker] : []), ...(spans.size > 1 ? [`span ${span}`] : [])].join(" ▸ ");
}
