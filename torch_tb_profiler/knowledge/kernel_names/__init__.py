"""Short names of kernels: what tells one from the others, in as few letters as that takes.

Rules: ``docs/metrics.md#kernel-names``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from torch_tb_profiler.knowledge.demangling import demangled, identifiers
from torch_tb_profiler.knowledge.kernel_names.plain import cut, plain_name
from torch_tb_profiler.knowledge.kernel_names.reading import KernelNameReader
from torch_tb_profiler.knowledge.kernel_names.rules import rules
from torch_tb_profiler.knowledge.kernel_names.telling_apart import told_apart
from torch_tb_profiler.knowledge.kernel_names.writing import Writer

__all__ = ["short_names"]

NO_NAME = "(no name)"
CPP = re.compile(r"::|[\w$][<(]")
NO_CPP = re.compile(r"""^[^\w~$:'({\[<]|^<(?!unnamed>)|["\\`@;]|/(?=[^\W\d])""")
"""What begins no name of C++ or stands in none: of markup and paths the reader would find words."""

COPIES = re.compile(r"\[?(CUDA )?[Mm]em(cpy|set)")


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Recorded name → short name; two different names never have the same one.

    Args:
        names: The different kernel names of one trace, or of all that are compared.
    """
    return told_apart({name: _short_form(name) for name in names}, demangled)


@lru_cache(maxsize=8192)
def _short_form(name: str) -> str:
    """The short form of one name, looked at alone."""
    text = demangled(name)
    if text.startswith("_Z"):
        return _unreadable(text)
    text = " ".join(text.split())
    if not text:
        return NO_NAME
    if COPIES.match(text) or not _is_cpp(text):
        return plain_name(text)
    name_read = KernelNameReader(text).function()
    return Writer(rules()).function(name_read) if name_read.parts else plain_name(text)


def _is_cpp(text: str) -> bool:
    return bool(CPP.search(text)) and not NO_CPP.search(text) and text.isprintable()


def _unreadable(text: str) -> str:
    """Of a mangled name that cannot be read, for recorders cut them, what it calls things."""
    file = rules().file
    words = [
        word
        for word in identifiers(text).split("::")
        if word and word not in file.namespaces and word not in file.entries
    ]
    return cut(" ".join(words)) if words else plain_name(text)
