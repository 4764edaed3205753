"""The kernels of two recordings, with names that can be compared."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from torch_tb_profiler.knowledge.demangling import demangled
from torch_tb_profiler.trace.columns import Int64

MIN_COMMON_PCT = 50.0
"""Share of one recording's kernels whose names the other must have too."""

_SUFFIX = re.compile(r"(?:\.kd| \[clone [^\]]*\])+$")
_TEMPLATES = re.compile(r"[<(].*", re.DOTALL)


class Kernels(Struct, frozen=True):
    """The kernels of one recording, ordered by start.

    Attributes:
        names: Name per kernel as its recorder writes it, object array.
        start_ns: Starts on the recording's clock.
        dur_ns: Durations.
    """

    names: npt.NDArray[np.object_]
    start_ns: Int64
    dur_ns: Int64


def name_codes(first: Kernels, second: Kernels) -> tuple[Int64, Int64] | None:
    """A code per kernel of both, equal for equal names.

    Recorders write names mangled or not, some without parameters: whole signatures are compared,
    and where they differ the names before templates and parameters.

    Returns:
        The codes, from 0; None where the recordings have no names in common.
    """
    for form in (_signature, _bare_name):
        known: dict[str, int] = {}
        a, b = (_codes(side.names, form, known) for side in (first, second))
        shares = [float(np.mean(np.isin(*sides))) for sides in ((a, b), (b, a))]
        if max(shares) * 100 >= MIN_COMMON_PCT:
            return a, b
    return None


def _codes(
    names: npt.NDArray[np.object_], form: Callable[[str], str], known: dict[str, int]
) -> Int64:
    by_name = {name: known.setdefault(form(name), len(known)) for name in dict.fromkeys(names)}
    return np.array([by_name[name] for name in names], np.int64)


def _signature(name: str) -> str:
    text = "".join(demangled(_SUFFIX.sub("", name)).removeprefix("void ").split())
    return text.replace("(anonymousnamespace)", "").replace("<unnamed>", "")


def _bare_name(name: str) -> str:
    return _TEMPLATES.sub("", _signature(name))
