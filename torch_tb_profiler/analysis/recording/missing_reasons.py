"""Why a recording lacks something: the reason it states, else the option that records it."""

from __future__ import annotations

import re
from typing import Literal

from torch_tb_profiler.knowledge.recorders import Recorder, recorder_named
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.info import Capability
from torch_tb_profiler.trace.model import Trace

AnyCapability = Capability | Literal["garbage_collection", "cudnn_setting"]
"""What a recording may lack, also what only findings use."""

NO_DEVICE_WORK = "The recording holds no device work (CPU-only, or the device was not profiled)."
NO_LAUNCHES = "The file has no launches: none of its device events is linked to the host."


def recorder(trace: Trace) -> Recorder:
    """The recorder of ``trace``."""
    return recorder_named(trace.meta.info.recorder)


def recorded_reason(trace: Trace, *capabilities: AnyCapability) -> str | None:
    """The reason the recording states for lacking the first of ``capabilities`` it has one for."""
    stated = {each.capability: each.reason for each in trace.meta.info.not_recorded}
    return next((_sentence(stated[key]) for key in capabilities if key in stated), None)


def missing_reason(trace: Trace, capability: AnyCapability, default: str) -> str:
    """Why something is null in ``trace``.

    Args:
        trace: The trace.
        capability: What is missing, as in ``TraceInfo.not_recorded``.
        default: The reason for any recording without it. The option of the recorder that records
            it, where there is one, is added in parentheses; not where the option was set: the
            recording says so, or holds the data for other events.
    """
    stated = recorded_reason(trace, capability)
    if stated is not None:
        return stated
    option = recorder(trace).records.get(capability)
    if option is None or _was_set(trace, option) or _holds(trace, capability):
        return default
    return f"{default.removesuffix('.')} ({option}){'.' if default.endswith('.') else ''}"


_COLUMNS: dict[AnyCapability, tuple[tuple[str, str], ...]] = {
    "input_shapes": (("operators", "input_shape_code"),),
    "input_types": (("operators", "input_type_code"),),
    "call_stacks": (("operators", "call_stack_code"), ("python", "slice")),
    "python": (("python", "slice"),),
    "modules": (("python", "module_id"),),
}
"""A recording holds a capability when one of these columns has any value."""


_OPTION = re.compile(r"(?:\w+\()?(\w+)=True\)? records? (?:it|them)")
"""A phrase of ``recorders.toml`` that names nothing but one switch."""


def _was_set(trace: Trace, phrase: str) -> bool:
    match = _OPTION.fullmatch(phrase)
    settings = trace.meta.info.recording
    return match is not None and getattr(settings, match[1], None) is True


def _holds(trace: Trace, capability: AnyCapability) -> bool:
    return any(
        getattr(trace, table)[column].count() > 0 for table, column in _COLUMNS.get(capability, ())
    )


@per_trace
def no_device_time(trace: Trace) -> str | None:
    """Why no host slice has a known device time: no device work, or none linked to the host. None
    when some may have."""
    work = trace.device_work
    if work.is_empty():
        return recorded_reason(trace, "kernels") or NO_DEVICE_WORK
    is_linked = work["launch"].is_not_null().any() or work["owner"].is_not_null().any()
    return None if is_linked else recorded_reason(trace, "launches") or NO_LAUNCHES


def _sentence(text: str) -> str:
    """``"needs Level1"`` → ``"Needs Level1."``; a name at the start stays as it is."""
    first = text.split(" ", 1)[0]
    start = text[:1].upper() if first.islower() and first.isalpha() else text[:1]
    return f"{start}{text[1:].removesuffix('.')}."
