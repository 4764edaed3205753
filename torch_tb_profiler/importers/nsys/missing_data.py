"""What an export does not contain, with reasons: from its missing and empty tables."""

from __future__ import annotations

from torch_tb_profiler.importers.nsys.api_calls import CALLS
from torch_tb_profiler.importers.nsys.device_work import COPY_TABLE, KERNELS
from torch_tb_profiler.importers.nsys.devices import GPUS
from torch_tb_profiler.importers.nsys.export import Export
from torch_tb_profiler.importers.nsys.info import records_graphs_whole
from torch_tb_profiler.importers.nsys.memory_usage import USAGE
from torch_tb_profiler.importers.nsys.nvtx import EVENTS
from torch_tb_profiler.importers.nsys.samples import GPU_METRICS
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int8
from torch_tb_profiler.trace.info import Capability

NEEDED_TABLES: tuple[tuple[Capability, str], ...] = (
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
"""(kind of data, the table that holds it)."""

GRAPH_LAUNCH = "cudaGraphLaunch"

NEVER_RECORDED: tuple[tuple[Capability, str], ...] = (
    ("occupancy", "Nsight Systems does not record the occupancy of kernels."),
    ("python", "Nsight Systems does not record Python frames as events."),
    ("call_stacks", "Call stacks of Nsight Systems are not read."),
)
"""(kind of data that no export has or that is not read, the reason)."""


NO_LOADING = (
    "Nsight Systems itself does not record data loading, and no NVTX range of a data loader was "
    "recorded (torch.autograd.profiler.emit_nvtx() adds those of PyTorch)."
)


def set_missing_reasons(export: Export, categories: Int8) -> None:
    """Fill ``export.missing_reasons`` from the tables of the export.

    Args:
        export: The export, read.
        categories: The category of every slice.
    """
    if not (categories == Category.DATALOADER).any():
        export.missing_reasons.setdefault("data_loading", NO_LOADING)
    for capability, reason in NEVER_RECORDED:
        export.missing_reasons.setdefault(capability, reason)
    for capability, table in NEEDED_TABLES:
        empty_reason = _empty_reason(export, table)
        if empty_reason is not None:
            export.missing_reasons.setdefault(capability, empty_reason)
    graphs = export.quality.counts.get("graph_without_kernels", 0)
    if graphs:
        export.missing_reasons["graph_kernels"] = (
            f"{graphs} launches of CUDA graphs were recorded as a whole, without their kernels: "
            "capture again with --cuda-graph-trace=node."
        )
        if not export.has(KERNELS):
            export.missing_reasons["kernels"] = export.missing_reasons["graph_kernels"]
    elif GRAPH_LAUNCH in export.names.strings and records_graphs_whole(export):
        export.missing_reasons["graph_kernels"] = (
            "The program launches CUDA graphs, which were not recorded kernel by kernel: "
            "capture again with --cuda-graph-trace=node."
        )


def _empty_reason(export: Export, table: str) -> str | None:
    if table not in export.database.tables:
        return f"Not traced: the table {table} is absent."
    return None if export.database.count(table) else f"Not traced: the table {table} is empty."
