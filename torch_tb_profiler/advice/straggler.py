"""One worker keeps arriving last at collectives."""

from __future__ import annotations

from collections.abc import Mapping

from torch_tb_profiler.advice.context import Context
from torch_tb_profiler.advice.finding import Finding
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.distributed.columns import STRAGGLERS
from torch_tb_profiler.views.distributed.view import stragglers
from torch_tb_profiler.views.quality_notes import is_cut_short

CODE = "straggler"
EVIDENCE = STRAGGLERS


def detect_in_run(contexts: Mapping[str, Context]) -> Finding | None:
    """The worst straggler delays the others by more than the threshold of the mean step.

    A recording that was cut short says too little of its worker: what it lacks of a call makes that
    look short, as if the worker had arrived last.
    """
    traces = {worker: context.trace for worker, context in contexts.items()}
    first = next(iter(contexts.values()))
    table = stragglers(traces, first.selection)
    frame = table.frame
    whole = [worker for worker, trace in traces.items() if not is_cut_short(trace)]
    worst = frame.filter(frame["worker"].is_in(whole) & (frame["delay_us"] > 0)).head(1)
    if worst.is_empty():
        return None
    row = worst.row(0, named=True)
    context = contexts[row["worker"]]
    delay_ns = context.per_step(row["delay_us"] * NS_PER_US)
    share = context.share_pct(delay_ns)
    if share <= entry(CODE).threshold:
        return None
    return Finding(
        CODE,
        share,
        delay_ns / NS_PER_US,
        values={"worker": row["worker"], "arrived_last_pct": row["arrived_last_pct"]},
        evidence=table,
        source={"view": "distributed", "table": "stragglers"},
        architecture=context.architecture_name,
    )
