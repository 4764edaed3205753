"""Short names of kernels: what tells one from the others, in as few letters as that takes."""

from __future__ import annotations

from collections.abc import Iterable

from torch_tb_profiler.knowledge.demangling import demangled

__all__ = ["short_names"]


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Recorded name → short name; two different names never have the same one.

    Args:
        names: The different kernel names of one trace.
    """
    return {name: demangled(name).removeprefix("void ") for name in names}
