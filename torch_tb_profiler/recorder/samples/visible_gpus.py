"""Which GPUs are visible to this process, from its environment: asking CUDA would initialize it.

``CUDA_VISIBLE_DEVICES`` lists numbers, prefixes of ``GPU-…`` ids and MIG ids; entries after the
first invalid one are ignored (CUDA C++ Programming Guide, environment variables).
"""

from __future__ import annotations

import os
from dataclasses import dataclass

VARIABLE = "CUDA_VISIBLE_DEVICES"
MAX_GPUS = 16


@dataclass(frozen=True)
class VisibleGpu:
    """A GPU visible to the process.

    Attributes:
        number: CUDA's device number in this process.
        index: NVML's index; None if the GPU is given by id.
        uuid: Its id or a prefix of it; None if the GPU is given by number.
    """

    number: int
    index: int | None = None
    uuid: str | None = None


def visible_gpus(count: int) -> list[VisibleGpu]:
    """The visible GPUs of the ``count`` in the machine. A process started by a launcher
    (``LOCAL_RANK``) that sees one GPU per local rank gets only its own."""
    named = os.environ.get(VARIABLE)
    if named is None:
        seen = [VisibleGpu(number, index=number) for number in range(count)]
    else:
        seen = _named(named, count)
    rank, ranks = (_number(os.environ.get(key, "")) for key in ("LOCAL_RANK", "LOCAL_WORLD_SIZE"))
    if rank is not None and ranks is not None and 1 < ranks <= len(seen) and rank < len(seen):
        seen = [seen[rank]]
    return seen[:MAX_GPUS]


def _named(text: str, count: int) -> list[VisibleGpu]:
    seen: list[VisibleGpu] = []
    for name in (part.strip() for part in text.split(",")):
        index = _number(name)
        if index is not None and index < count:
            seen.append(VisibleGpu(len(seen), index=index))
        elif name.startswith(("GPU-", "MIG-")):
            seen.append(VisibleGpu(len(seen), uuid=name))
        else:
            break
    return seen


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else None
