"""The recorder's names of kinds of records, functions and directions, and what they mean here."""

from __future__ import annotations

import re

from torch_tb_profiler.importers.nsys.nvtx import MARK, PUSH_POP, START_END
from torch_tb_profiler.trace.categories import Category

MARKERS = re.compile(r"MARKER_CORE(_RANGE)?_API|rocm_marker_api", re.IGNORECASE)
"""Kinds of records that are ranges and marks of ROCTx."""

_RUNTIME = re.compile(r"(ROCM_)?(HIP|HSA|RCCL)(_\w*)?_API(_\w+)?", re.IGNORECASE)
"""Kinds of records that are calls into the runtimes of the device."""

_ROCTX = ("MARKER_", "ROCM_MARKER")
"""Beginnings of kinds of records of ROCTx, ranges or not."""

_EVENT_TYPES: tuple[tuple[str, int], ...] = (
    ("roctxMark", MARK[0]),
    ("roctxRangePush", PUSH_POP[0]),
    ("roctxThreadRange", PUSH_POP[0]),
    ("roctxRangeStart", START_END[0]),
    ("roctxProcessRange", START_END[0]),
)
"""Beginning of a function's name → kind of range or mark, of which the record has both ends."""

_DIRECTION = re.compile(r"(HOST|DEVICE)_TO_(HOST|DEVICE)|Copy(Host|Device)To(Host|Device)")

_MEMORY = {True: ("D", "Device"), False: ("H", "Host")}

RELEASES = re.compile(r"(.*_)?(FREE|RECLAIM)")
"""Operations on memory that release it."""


def call_category(kind: str) -> Category:
    """The category of calls of a kind; those of other libraries than the runtimes' are counted as
    neither operators nor launches.

    >>> call_category("HIP_RUNTIME_API_EXT").name, call_category("ROCDECODE_API").name
    ('RUNTIME', 'HOST_OTHER')
    """
    return Category.RUNTIME if _RUNTIME.fullmatch(kind) else Category.HOST_OTHER


def is_other_library(kind: str) -> bool:
    """Whether calls of a kind are of a library that nothing here knows (video decoding, OpenMP)."""
    return _RUNTIME.fullmatch(kind) is None and not kind.upper().startswith(_ROCTX)


def library_name(kind: str) -> str:
    """The raw category of calls of a kind.

    >>> library_name("HIP_RUNTIME_API_EXT")
    'hip_runtime_api'
    """
    return kind.lower().removesuffix("_ext")


def event_type(function: str) -> int | None:
    """The kind of range or mark that a function of ROCTx makes; None if it makes none."""
    return next((kind for start, kind in _EVENT_TYPES if function.startswith(start)), None)


def copy_name(from_gpu: bool | None, to_gpu: bool | None, operation: str) -> str:
    """The name of a copy, as Kineto writes it.

    Args:
        from_gpu: Whether it reads the memory of a GPU; None if unknown.
        to_gpu: Whether it writes the memory of a GPU; None if unknown.
        operation: The recorder's name, which has the direction too.

    >>> copy_name(False, True, ""), copy_name(None, None, "MEMORY_COPY_DEVICE_TO_HOST")
    ('Memcpy HtoD (Host -> Device)', 'Memcpy DtoH (Device -> Host)')
    """
    match = _DIRECTION.search(operation)
    if match is not None:
        source, target = (match[each] or match[each + 2] for each in (1, 2))
        from_gpu = source.lower() == "device" if from_gpu is None else from_gpu
        to_gpu = target.lower() == "device" if to_gpu is None else to_gpu
    if from_gpu is None or to_gpu is None:
        return "Memcpy"
    (source, source_memory), (target, target_memory) = _MEMORY[from_gpu], _MEMORY[to_gpu]
    return f"Memcpy {source}to{target} ({source_memory} -> {target_memory})"
