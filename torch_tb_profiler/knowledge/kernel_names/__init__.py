"""Short names of kernels: as few characters as distinguish each from the others.

Rules: ``docs/metrics.md#kernel-names``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from torch_tb_profiler.knowledge.demangling import demangled, identifiers
from torch_tb_profiler.knowledge.kernel_names.disambiguate import disambiguate
from torch_tb_profiler.knowledge.kernel_names.plain import cut, plain_name
from torch_tb_profiler.knowledge.kernel_names.reading import MAX_CHARS, KernelNameReader
from torch_tb_profiler.knowledge.kernel_names.rules import name_rules
from torch_tb_profiler.knowledge.kernel_names.writing import ShortNameWriter

__all__ = ["short_names"]

ALL_CHARS = 10_000_000
"""Of names that are longer together, less of each is read. No recording has a tenth of that."""

MIN_CHARS = 256

NO_NAME = "(no name)"
CPP = re.compile(r"::|[\w$][<(]")
NO_CPP = re.compile(r"""^[^\w~$:'({\[<]|^<(?!unnamed>)|["\\`@;]|/(?=[^\W\d])|\s\d+<-\d+$""")
"""Not part of C++ names: markup, paths and the ranks of a transfer (``nccl:recv 0<-1``), in which
the reader would find words."""

COPIES = re.compile(r"\[?(CUDA )?[Mm]em(cpy|set)")


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Recorded name → short name; two different names never have the same one.

    Args:
        names: The different kernel names of one trace, or of all that are compared.
    """
    names = list(names)
    most = MAX_CHARS
    while most > MIN_CHARS and sum(min(len(name), most) for name in names) > ALL_CHARS:
        most //= 2
    texts = demangled if most == MAX_CHARS else lambda name: demangled(name)[:most]
    return disambiguate({name: _short_form(name, most) for name in names}, texts)


@lru_cache(maxsize=8192)
def _short_form(name: str, most: int) -> str:
    """The short form of one name, of C++ by its first ``most`` characters, without regard to the
    others."""
    text = demangled(name)
    if text.startswith("_Z"):
        return _unreadable(text)
    text = " ".join(text.split())
    if not text:
        return NO_NAME
    if COPIES.match(text) or not _is_cpp(text):
        return plain_name(text)
    name_read = KernelNameReader(text[:most]).function()
    return (
        ShortNameWriter(name_rules()).function(name_read) if name_read.parts else plain_name(text)
    )


def _is_cpp(text: str) -> bool:
    return bool(CPP.search(text)) and not NO_CPP.search(text) and text.isprintable()


def _unreadable(text: str) -> str:
    """The identifiers of a mangled name that cannot be read, as recorders truncate them."""
    file = name_rules().file
    words = [
        word
        for word in identifiers(text).split("::")
        if word and word not in file.namespaces and word not in file.entries
    ]
    return cut(" ".join(words)) if words else plain_name(text)
