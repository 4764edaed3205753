"""The kind of the devices of a recording, where they are not GPUs."""

from __future__ import annotations

from torch_tb_profiler.analysis.recording.missing_reasons import recorder
from torch_tb_profiler.knowledge.devices import DeviceKind, kind_of_label
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


@per_trace
def device_kind(trace: Trace) -> DeviceKind | None:
    """The one kind of all devices of ``trace``, from the labels of their tracks, else from the
    recorder; None for GPUs, unknown devices, and several kinds."""
    labels = (
        trace.tracks.filter(trace.tracks["is_device"])["process_label"]
        .drop_nulls()
        .unique()
        .to_list()
    )
    labels = labels or [recorder(trace).devices]
    kinds = {kind_of_label(label) if label else None for label in labels}
    return kinds.pop() if len(kinds) == 1 else None
