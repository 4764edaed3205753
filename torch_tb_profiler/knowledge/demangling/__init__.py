"""Demangling of C++ names (Itanium ABI, ``_Z…``).

Recorders leave the longest names of CUDA and HIP kernels mangled. Names are untrusted: time, depth
and length are bounded, and a name that cannot be read stays as recorded.
"""

from __future__ import annotations

import re
from functools import lru_cache

from torch_tb_profiler.knowledge.demangling.letters import UnreadableError
from torch_tb_profiler.knowledge.demangling.names import MangledNameReader

__all__ = ["demangled", "identifiers"]

MAX_CHARS = 1 << 15
"""Longer names are not read."""

PREFIX = "_Z"

LENGTH = re.compile(r"L[a-z]n?[0-9]+E|[ST][0-9A-Z]*_|([0-9]{1,6})")
"""The length before an identifier, and other texts with digits: literals and substitutions."""

CLONE = re.compile(r"\.[A-Za-z_0-9.]+$")
"""Suffixes of compilers: ``.kd``, ``.isra.0``."""


@lru_cache(maxsize=8192)
def demangled(name: str) -> str:
    """The demangled name, as ``c++filt`` writes it; ``name`` itself if it cannot be demangled."""
    if not name.startswith(PREFIX) or len(name) > MAX_CHARS:
        return name
    clone = CLONE.search(name)
    mangled = name[: clone.start()] if clone else name
    reader = MangledNameReader(mangled, len(PREFIX))
    try:
        text = reader.encoding()
    except (UnreadableError, RecursionError):
        return name
    if reader.at != len(mangled):
        return name
    return f"{text} [clone {clone.group()}]" if clone else text


def identifiers(name: str) -> str:
    """The identifiers of a truncated mangled name: ``a::b``."""
    parts, at = [], len(PREFIX)
    while (length := LENGTH.search(name, at)) is not None:
        at = length.end() + int(length.group(1) or 0)
        parts.append(name[length.end() : at])
    return "::".join(filter(None, parts))
