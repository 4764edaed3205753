"""Whether device time can be told of what ran on the host: it needs device work linked to it."""

from __future__ import annotations

from torch_tb_profiler.analysis.recording.missing_reasons import own_reason
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

NO_DEVICE_WORK = "The recording holds no device work (CPU-only, or the device was not profiled)."
NO_LAUNCHES = "The file links none of its device events to the host: no launch of one is in it."


@per_trace
def no_device_time(trace: Trace) -> str | None:
    """Why nothing of the host has device time that is known; None when some may have."""
    work = trace.device_work
    if work.is_empty():
        return own_reason(trace, "kernels") or NO_DEVICE_WORK
    is_linked = work["launch"].is_not_null().any() or work["owner"].is_not_null().any()
    return None if is_linked else own_reason(trace, "launches") or NO_LAUNCHES
