"""Mangled C++ names (Itanium ABI, ``_Z…``) as they stood in the source.

Recorders leave the longest names of CUDA and HIP kernels mangled. Names are text of strangers:
time, depth and length are bounded, and a name that cannot be read stays as it was recorded.
"""

from __future__ import annotations

import re
from functools import lru_cache

from torch_tb_profiler.knowledge.demangling.letters import UnreadableError
from torch_tb_profiler.knowledge.demangling.names import NameReader

__all__ = ["demangled", "identifiers"]

MAX_CHARS = 1 << 15
"""Longer names are not read."""

PREFIX = "_Z"

LENGTH = re.compile(r"L[a-z]n?[0-9]+E|[ST][0-9A-Z]*_|([0-9]{1,6})")
"""What an identifier begins with, and what else has digits: literals, what stands for others."""

CLONE = re.compile(r"\.[A-Za-z_0-9.]+$")
"""What compilers append: ``.kd``, ``.isra.0``."""


@lru_cache(maxsize=8192)
def demangled(name: str) -> str:
    """The C++ text behind a mangled name, as ``c++filt`` writes it; ``name`` itself where it is not
    mangled or cannot be read."""
    if not name.startswith(PREFIX) or len(name) > MAX_CHARS:
        return name
    clone = CLONE.search(name)
    mangled = name[: clone.start()] if clone else name
    reader = NameReader(mangled, len(PREFIX))
    try:
        text = reader.encoding()
    except (UnreadableError, RecursionError):
        return name
    if reader.at != len(mangled):
        return name
    return f"{text} [clone {clone.group()}]" if clone else text


def identifiers(name: str) -> str:
    """The identifiers of a mangled name that cannot be read, for recorders cut them: ``a::b``."""
    found, at = [], len(PREFIX)
    while (length := LENGTH.search(name, at)) is not None:
        at = length.end() + int(length.group(1) or 0)
        found.append(name[length.end() : at])
    return "::".join(filter(None, found))
