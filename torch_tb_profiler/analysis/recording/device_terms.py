"""The terms of the devices of a recording, where they are not NVIDIA's GPUs."""

from __future__ import annotations

from torch_tb_profiler.analysis.recording.missing_reasons import recorder
from torch_tb_profiler.knowledge.device_terms import (
    AMD,
    GPU,
    DeviceTerms,
    device_kinds,
    kind_of_calls,
    kind_of_label,
    kind_of_model,
)
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


@per_trace
def device_terms(trace: Trace) -> DeviceTerms | None:
    """The one kind of all devices of ``trace``; None for NVIDIA's GPUs, unknown devices and several
    kinds. Labels of tracks say it, else the version of a HIP runtime, the names of the devices in
    use, the recorder, or the runtime calls."""
    labels = _device_labels(trace)
    by_label = {kind_of_label(label) for label in labels}
    if by_label - {None}:
        return by_label.pop() if len(by_label) == 1 else None
    if trace.meta.info.hip_runtime_version is not None:
        return device_kinds()[AMD]
    names = {name for name, used in trace.devices.select("name", "used").rows() if used and name}
    by_name = {kind_of_model(name) for name in names}
    if by_name - {None}:
        return by_name.pop() if len(by_name) == 1 else None
    own = recorder(trace).devices
    if own:
        return kind_of_label(own)
    by_calls = kind_of_calls(_runtime_calls(trace))
    is_labelled_gpu = bool(labels)
    return None if is_labelled_gpu and by_calls and by_calls.device != GPU else by_calls


def device_word(trace: Trace) -> str:
    """What one device of ``trace`` is called: ``"GPU"``, ``"NPU"``."""
    kind = device_terms(trace)
    return GPU if kind is None else kind.device


def _device_labels(trace: Trace) -> list[str]:
    if trace.tracks.is_empty():  # of a summary, of which there may be thousands
        return []
    return trace.tracks.filter("is_device")["process_label"].drop_nulls().unique().to_list()


def _runtime_calls(trace: Trace) -> list[str]:
    slices = trace.slices
    if slices.is_empty():
        return []
    codes = slices["name_code"].filter(slices["category"] == Category.RUNTIME).unique()
    return [str(text) for text in trace.strings[codes.to_numpy()]]
