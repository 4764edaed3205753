"""The moment whose memory is listed (``at_us``)."""

from __future__ import annotations

from decimal import Decimal

from torch_tb_profiler.trace.columns import EPOCH_NS
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US


def chosen_moment(trace: Trace, at_us: Decimal | None) -> int | None:
    """``at_us`` in trace time (ns), None where no moment is chosen."""
    if at_us is None:
        return None
    time_ns = int((at_us * NS_PER_US).to_integral_value())
    # As with time ranges: what can only count from the epoch does.
    return time_ns if time_ns <= EPOCH_NS else time_ns - trace.meta.base_ns
