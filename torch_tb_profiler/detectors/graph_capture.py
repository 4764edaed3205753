"""Graphs are captured inside the selected steps."""

from __future__ import annotations

from msgspec.structs import replace

from torch_tb_profiler.analysis.algebra.intervals import total_within
from torch_tb_profiler.analysis.idle.attribution import idle_causes
from torch_tb_profiler.analysis.idle.causes import IdleCause
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.idle import idle_finding, idle_table

CODE = "graph_capture"
EVIDENCE = idle_table(CODE)


def detect(context: Context) -> Finding | None:
    """No device works while the host captures or instantiates graphs, for more than the threshold
    of the step. It happens once per graph, so no gain is estimated; in most of several steps it
    happens again and again."""
    source = {"view": "idle", "table": "gaps", "sort": "-duration_us"}
    idle = idle_causes(context.trace).intervals[IdleCause.GRAPH_CAPTURE]
    windows = context.windows
    captured = int((total_within(idle, windows.start_ns, windows.end_ns) > 0).sum())
    is_again = context.step_count > 1 and 2 * captured > context.step_count
    variant = "again" if is_again else "default"
    finding = idle_finding(context, EVIDENCE, IdleCause.GRAPH_CAPTURE, source, variant)
    values = {"captured": captured, "steps": context.step_count}
    return None if finding is None else replace(finding, values=values)
