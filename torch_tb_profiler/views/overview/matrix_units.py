"""How busy matrix units are in the kernels that use them, where the recording measured it."""

from __future__ import annotations

from torch_tb_profiler.analysis.recording.matrix_units import matrix_units_busy_pct
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import device_work_mask
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import Fact


def matrix_unit_facts(trace: Trace, selection: Selection) -> tuple[Fact, ...]:
    """The figure; none where it was not measured, as on GPUs."""
    busy = matrix_units_busy_pct(trace, device_work_mask(trace, selection))
    if busy is None:
        return ()
    return (
        Fact(
            "matrix_units_busy_pct",
            "Tensor Cores busy",
            busy,
            "pct",
            None,
            "Share of the time of kernels that use Tensor Cores in which these multiply, as the "
            "recorder measured it; mean weighted by the durations of the kernels.",
        ),
    )
