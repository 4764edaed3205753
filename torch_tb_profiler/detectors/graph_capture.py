"""Graphs are captured inside the selected steps."""

from __future__ import annotations

from torch_tb_profiler.analysis.idle.causes import IdleCause
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.idle import idle_finding, idle_table

CODE = "graph_capture"
EVIDENCE = idle_table(CODE)


def detect(context: Context) -> Finding | None:
    """No device works while the host captures or instantiates graphs, for more than the threshold
    of the step. It happens once per graph, so no gain is estimated."""
    return idle_finding(
        context, EVIDENCE, IdleCause.GRAPH_CAPTURE, {"view": "idle", "table": "gaps"}
    )
