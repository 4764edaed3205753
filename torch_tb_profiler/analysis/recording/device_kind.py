"""What the devices of a recording are, where they are no GPUs."""

from __future__ import annotations

from torch_tb_profiler.analysis.recording.missing_reasons import recorder
from torch_tb_profiler.knowledge.devices import DeviceKind, kind_of_label
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


@per_trace
def device_kind(trace: Trace) -> DeviceKind | None:
    """What all devices of ``trace`` are by what its tracks call them, without any by what records
    them; None for GPUs, for devices that nothing is said of, and for several kinds. Made once."""
    labels = trace.tracks.filter(trace.tracks["is_device"])["process_label"].unique().to_list()
    labels = labels or [recorder(trace).devices]
    kinds = {kind_of_label(label) if label else None for label in labels}
    return kinds.pop() if len(kinds) == 1 else None
