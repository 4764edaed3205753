"""The names of a trace's slices in order of their codes, page by page."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.recording.kernel_names import kernel_names
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.timeline.scopes import scopes

MAX_NAMES = 10_000
MAX_CHARACTERS = 1_000_000
"""Of the names of one page; a longer one comes alone."""


class NamePage(Struct, frozen=True):
    """Names with their codes; ``next_code`` is where the next page begins, None at the end.
    ``short_names`` has the short form of those of kernels, else None; ``demangled_names`` the
    demangled form of those that are mangled."""

    codes: list[int]
    names: list[str]
    next_code: int | None
    short_names: list[str | None]
    demangled_names: list[str | None]


@per_trace
def slice_name_codes(trace: Trace) -> Int64:
    """The codes that name slices, ascending, and behind them those of scopes, which are texts of
    no slice: they count on from the strings of the trace."""
    codes: Int64 = trace.slices["name_code"].unique().sort().to_numpy().astype(np.int64)
    of_scopes = len(trace.strings) + np.arange(len(scopes(trace).names))
    return np.concatenate((codes[codes >= 0], of_scopes))


def name_text(trace: Trace, code: int) -> str | None:
    """The text of a code of :func:`slice_name_codes`; None of another."""
    own = code - len(trace.strings)
    if own < 0:
        return trace.text(code)
    names = scopes(trace).names
    return names[own] if own < len(names) else None


def names_from(trace: Trace, first_code: int) -> NamePage:
    """The names of slices whose code is ``first_code`` or greater, as many as a page holds."""
    codes = slice_name_codes(trace)
    codes = codes[np.searchsorted(codes, first_code) :]
    page = codes[:MAX_NAMES].tolist()
    names = [name_text(trace, code) or "" for code in page]
    ends = np.cumsum([len(name) for name in names])
    count = max(1, int(np.searchsorted(ends, MAX_CHARACTERS, "right")))
    next_code = int(codes[count]) if count < len(codes) else None
    others = kernel_names(trace)
    short_names = [others.short_text(code) for code in page[:count]]
    demangled_names = [others.demangled_text(code) for code in page[:count]]
    return NamePage(page[:count], names[:count], next_code, short_names, demangled_names)
