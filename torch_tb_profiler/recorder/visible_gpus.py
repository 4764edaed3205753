"""Which GPUs this process sees, told by its environment: asking CUDA would start it.

``CUDA_VISIBLE_DEVICES``: numbers, beginnings of ``GPU-…`` ids, ids of MIG slices; what follows one
that is none is not seen (CUDA C++ Programming Guide, environment variables).
"""

from __future__ import annotations

import os
from dataclasses import dataclass

VARIABLE = "CUDA_VISIBLE_DEVICES"
MAX_GPUS = 16


@dataclass(frozen=True)
class VisibleGpu:
    """A GPU that the process sees.

    Attributes:
        number: As the process counts it.
        index: Its number of the driver, None where an id names it.
        uuid: Its id or the beginning of it, None where a number names it.
    """

    number: int
    index: int | None = None
    uuid: str | None = None


def visible_gpus(count: int) -> list[VisibleGpu]:
    """The GPUs that the process sees, of ``count`` that there are; of a process that a launcher
    started beside others (``LOCAL_RANK``) only its own, where it sees one for each of them."""
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
