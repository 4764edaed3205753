"""Why a recording lacks something: as it says itself, else how its recorder records that."""

from __future__ import annotations

from typing import Literal

from torch_tb_profiler.knowledge.recorders import Recorder, recorder_named
from torch_tb_profiler.trace.info import Capability
from torch_tb_profiler.trace.model import Trace

Lacking = Capability | Literal["garbage_collection", "cudnn_setting"]
"""What a recording may lack: also what only findings look for."""


def recorder(trace: Trace) -> Recorder:
    """What recorded ``trace``."""
    return recorder_named(trace.meta.info.recorder)


def own_reason(trace: Trace, *whats: Lacking) -> str | None:
    """Why a recording lacks the first of ``whats`` that it has a reason of its own for."""
    own = {each.capability: each.reason for each in trace.meta.info.not_recorded}
    return next((_sentence(own[what]) for what in whats if what in own), None)


def why(trace: Trace, what: Lacking, default: str) -> str:
    """Why something is null in ``trace``.

    Args:
        trace: The trace.
        what: What is missing, as in ``TraceInfo.not_recorded``.
        default: What is true of any recording without it. What its recorder is told to record it
            with, where there is such an option, is added in parentheses: not where the recording
            holds it of others, as it was recorded then.
    """
    own = own_reason(trace, what)
    if own is not None:
        return own
    option = recorder(trace).records.get(what)
    if option is None or _holds(trace, what):
        return default
    return f"{default.removesuffix('.')} ({option}){'.' if default.endswith('.') else ''}"


_COLUMNS: dict[Lacking, tuple[tuple[str, str], ...]] = {
    "input_shapes": (("operators", "input_shape_code"),),
    "input_types": (("operators", "input_type_code"),),
    "call_stacks": (("operators", "call_stack_code"), ("python", "slice")),
    "python": (("python", "slice"),),
    "modules": (("python", "module_id"),),
}
"""Where a recording holds something, as far as a look tells: any value in one of these columns."""


def _holds(trace: Trace, what: Lacking) -> bool:
    return any(
        getattr(trace, table)[column].count() > 0 for table, column in _COLUMNS.get(what, ())
    )


def _sentence(text: str) -> str:
    """``"needs Level1"`` → ``"Needs Level1."``; a name at the beginning keeps its letters."""
    first = text.split(" ", 1)[0]
    start = text[:1].upper() if first.islower() and first.isalpha() else text[:1]
    return f"{start}{text[1:].removesuffix('.')}."
