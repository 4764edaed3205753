/** The page without any trace: which files are traces, and how to record one. */
import { useAnswer } from "../api/hooks";
import type { About, Runs } from "../api/types";
import { visibleText } from "../lib/visibleText";
import { CopyButton } from "../ui/CopyButton";
import { FailureCard } from "../ui/stateCards";
import { LeftOut } from "./LeftOut";

const SNIPPET = `from torch.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler

with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
             schedule=schedule(wait=1, warmup=1, active=3), record_shapes=True, profile_memory=True,
             with_stack=True, on_trace_ready=tensorboard_trace_handler("LOGDIR")) as profiler:
    for batch in loader:
        train(batch); profiler.step()`;

/** An empty folder needs no error: the rest of the page is about it. */
const JUST_EMPTY = "no_traces";

export function EmptyLogdir({ runs }: { readonly runs: Runs }) {
  const about = useAnswer<About>("about", {});
  const logdir = about.state === "ready" ? about.data.logdir : null;
  const code = SNIPPET.replace("LOGDIR", logdir !== null && !/["\\\n]/.test(logdir) ? logdir : "log");
  if (runs.problem !== null && runs.problem.code !== JUST_EMPTY) {
    return (
      <div className="page empty">
        <FailureCard title="The trace location cannot be read" failure={runs.problem} />
        <p className="soft">The location is retried automatically; its traces appear here as soon as it can be read.</p>
      </div>
    );
  }
  return (
    <div className="page empty">
      <section className="card">
        <header>
          <h2>No profiler trace here yet</h2>
        </header>
        <div className="body">
          {logdir !== null && (
            <p>
              Searched <span className="mono">{logdir}</span> and every folder below it.
            </p>
          )}
          <p>
            Traces are recognized by their content, whatever their names: torch.profiler (
            <span className="mono">WORKER.STAMP.pt.trace.json.gz</span>, <span className="mono">trace.json</span>, <span className="mono">.pftrace</span> …), Nsight
            Systems, Paddle, Ascend and MindSpore. Each folder with traces is a run. New files appear here automatically.
          </p>
          <LeftOut runs={runs} />
          {runs.notes.map((note, index) => (
            <p key={index}>{visibleText(note)}</p>
          ))}
          <p>This code records one:</p>
          <pre className="code">{code}</pre>
          <p>
            <CopyButton text={code} label="Copy the code" className="button" />
          </p>
        </div>
      </section>
    </div>
  );
}
