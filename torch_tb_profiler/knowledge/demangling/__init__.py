"""Mangled C++ names (Itanium ABI, ``_Z…``) as they stood in the source.

Recorders leave the longest names of CUDA and HIP kernels mangled. Names are text of strangers:
time, depth and length are bounded, and a name that cannot be read stays as it was recorded.
"""

from __future__ import annotations

import re
from functools import lru_cache

from torch_tb_profiler.knowledge.demangling.letters import UnreadableError
from torch_tb_profiler.knowledge.demangling.names import NameReader

__all__ = ["demangled"]

MAX_CHARS = 1 << 15
"""Longer names are not read."""

PREFIX = "_Z"

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
