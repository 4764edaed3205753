"""What an export does not hold, and why: tables that nothing was recorded into."""

from __future__ import annotations

from torch_tb_profiler.importers.nsys.api_calls import CALLS
from torch_tb_profiler.importers.nsys.device_work import COPY_TABLE, KERNELS
from torch_tb_profiler.importers.nsys.devices import GPUS
from torch_tb_profiler.importers.nsys.export import Export
from torch_tb_profiler.importers.nsys.info import records_graphs_whole
from torch_tb_profiler.importers.nsys.memory_usage import USAGE
from torch_tb_profiler.importers.nsys.nvtx import EVENTS
from torch_tb_profiler.importers.nsys.samples import GPU_METRICS
from torch_tb_profiler.trace.info import What

TABLES: tuple[tuple[What, str], ...] = (
    ("kernels", KERNELS),
    ("copies", COPY_TABLE),
    ("runtime", CALLS),
    ("memory", USAGE),
    ("gpu_metrics", GPU_METRICS),
    ("device_properties", GPUS),
    ("blocks_per_sm", GPUS),
    ("ranges", EVENTS),
    ("operators", EVENTS),
)
"""What each table would tell."""

GRAPH_LAUNCH = "cudaGraphLaunch"

NEVER: tuple[tuple[What, str], ...] = (
    ("occupancy", "Nsight Systems does not record the occupancy of kernels."),
    ("python", "Nsight Systems does not record Python frames as events."),
    ("call_stacks", "Call stacks of Nsight Systems are not read."),
)
"""What no export tells, or is not read of any."""


def note_lacks(export: Export) -> None:
    """Put into ``export.lacks`` what its tables do not tell."""
    for what, reason in NEVER:
        export.lacks.setdefault(what, reason)
    for what, table in TABLES:
        why = _why_empty(export, table)
        if why is not None:
            export.lacks.setdefault(what, why)
    graphs = export.quality.counts.get("graph_without_kernels", 0)
    if graphs:
        export.lacks["graph_kernels"] = (
            f"{graphs} launches of CUDA graphs were recorded as a whole, without their kernels: "
            "capture again with --cuda-graph-trace=node."
        )
        if not export.has(KERNELS):
            export.lacks["kernels"] = export.lacks["graph_kernels"]
    elif GRAPH_LAUNCH in export.names.strings and records_graphs_whole(export):
        export.lacks["graph_kernels"] = (
            "The program launches CUDA graphs, which were not recorded kernel by kernel: "
            "capture again with --cuda-graph-trace=node."
        )


def _why_empty(export: Export, table: str) -> str | None:
    if table not in export.database.tables:
        return f"Not traced: the table {table} is absent."
    return None if export.database.count(table) else f"Not traced: the table {table} is empty."
