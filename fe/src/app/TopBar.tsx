/** Run ▸ worker ▸ span, the selection, search, theme and help. */
import { useState } from "react";

import type { Runs, ViewInfo } from "../api/types";
import { goToView, navigate, useParams } from "../state/urlStore";
import type { Target } from "../state/target";
import { HelpDialog } from "./HelpDialog";
import { MoonIcon, SunIcon } from "./icons";
import { SearchBox } from "./SearchBox";
import { SelectionControl } from "./SelectionControl";
import { TraceMenu } from "./TraceMenu";
import { chooseTheme, useTheme } from "./theme";

interface Props {
  readonly runs: Runs | null;
  readonly target: Target | null;
  readonly view: ViewInfo | null;
  readonly views: readonly ViewInfo[];
}

export function TopBar({ runs, target, view, views }: Props) {
  const theme = useTheme();
  const [helpOpen, setHelpOpen] = useState(false);
  const other = theme === "dark" ? "light" : "dark";
  return (
    <div className="topbar" role="banner">
      <span className="brand">PyTorch Profiler</span>
      {runs !== null && target !== null && <Pickers runs={runs} target={target} view={view} views={views} />}
      {target !== null && <SelectionControl target={target} />}
      <span className="spacer" />
      {target !== null && <TraceMenu target={target} />}
      {target !== null && <SearchBox target={target} views={views} />}
      <button
        type="button"
        className="button quiet icon"
        title={`Switch to the ${other} theme`}
        aria-label={`Switch to the ${other} theme`}
        onClick={() => chooseTheme(other)}
      >
        {theme === "dark" ? <SunIcon /> : <MoonIcon />}
      </button>
      <button type="button" className="button quiet icon" title="Help and settings (?)" aria-label="Help and settings" onClick={() => setHelpOpen(true)}>
        ?
      </button>
      <HelpDialog open={helpOpen} onOpen={() => setHelpOpen(true)} onClose={() => setHelpOpen(false)} />
    </div>
  );
}

interface PickersProps {
  readonly runs: Runs;
  readonly target: Target;
  readonly view: ViewInfo | null;
  readonly views: readonly ViewInfo[];
}

const NO_SELECTION = { steps: null, start_us: null, end_us: null };
const NO_BASELINE = { baseline_run: null, baseline_worker: null, baseline_span: null, baseline_steps: null };

function Pickers({ runs, target, view, views }: PickersProps) {
  const { run, worker, span } = target;
  const isFirst = runs.runs.length < 2;
  // Where a baseline is seen it stays; elsewhere the next run brings the one that suits it.
  const pickRun = (name: string) => navigate({ run: name, worker: null, span: null, ...NO_SELECTION, ...(view?.scope === "pair" ? {} : NO_BASELINE) });
  return (
    <div className="picker">
      <Picker label="Run" isFirst names={runs.runs.map((each) => each.name)} value={run.name} onPick={pickRun} />
      <WorkerPicker target={target} view={view} views={views} isFirst={isFirst} />
      <Picker
        label="Span"
        isFirst={isFirst && run.workers.length < 2}
        names={worker.spans.map((each) => each.name)}
        value={span.name}
        onPick={(name) => navigate({ run: run.name, worker: worker.name, span: name, ...NO_SELECTION })}
      />
    </div>
  );
}

interface WorkerPickerProps extends Omit<PickersProps, "runs"> {
  readonly isFirst: boolean;
}

/** Names of workers come from file names, which hold no slash. */
const ALL_WORKERS = "/all";

/** One worker, or all of them where a view of the whole run has something to show. */
function WorkerPicker({ target, view, views, isFirst }: WorkerPickerProps) {
  const params = useParams();
  const { run, worker } = target;
  if (run.workers.length < 2) return null;
  const together = views.find((each) => each.scope === "run" && each.available);
  const all = view?.scope === "run";
  const pick = (name: string) => {
    if (name === ALL_WORKERS) {
      if (together !== undefined) goToView(together.name);
      return;
    }
    // Steps mean the same on another worker of the run; another run or span has its own.
    navigate({ run: run.name, worker: name, span: params["span"], start_us: null, end_us: null, ...(all ? { view: "overview" } : {}) });
  };
  return (
    <>
      {!isFirst && <span className="faint">▸</span>}
      <select className="field" aria-label="Worker" title={all ? "All workers" : `Worker: ${worker.name}`} value={all ? ALL_WORKERS : worker.name} onChange={({ target: { value } }) => pick(value)}>
        {(all || together !== undefined) && <option value={ALL_WORKERS}>All {run.workers.length} workers</option>}
        {run.workers.map(({ name }) => (
          <option key={name} value={name}>
            {name === "" ? "(no name)" : name}
          </option>
        ))}
      </select>
    </>
  );
}

interface PickerProps {
  readonly label: string;
  /** Nothing stands before it. */
  readonly isFirst: boolean;
  readonly names: readonly string[];
  readonly value: string;
  readonly onPick: (name: string) => void;
}

function Picker({ label, isFirst, names, value, onPick }: PickerProps) {
  if (names.length < 2) return null;
  return (
    <>
      {!isFirst && <span className="faint">▸</span>}
      <select className="field" aria-label={label} title={`${label}: ${value}`} value={value} onChange={({ target }) => onPick(target.value)}>
        {names.map((name) => (
          <option key={name} value={name}>
            {label === "Span" && /^\d+$/.test(name) ? `Span ${name}` : name === "" ? "(no name)" : name}
          </option>
        ))}
      </select>
    </>
  );
}
