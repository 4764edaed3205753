"""Finding slices by name, and the next and previous one from a place."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.recording.kernel_names import kernel_names
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace

MAX_HITS = 2000
"""Hits that are listed: more marks than that melt into one on any screen."""

MAX_NAMES = 100

MAX_NAME_CODES = 20_000
"""Maximum number of listed name codes; clients match by codes, not by truncated names."""


class MatchingName(Struct, frozen=True):
    """A name that matches a search, its dictionary code, and how many slices have it.

    ``short_name`` is its short form where it is that of a kernel, ``demangled_name`` the demangled
    one where it is mangled.
    """

    name: str
    code: int
    count: int
    short_name: str | None = None
    demangled_name: str | None = None


class SearchHits(Struct, frozen=True, eq=False):
    """The slices that a search is after.

    Attributes:
        count: All slices that match.
        name_count: All names that match.
        names: The most frequent names.
        hits: Slice ids in order of (start, id), spread evenly over all hits when they are many.
        following: The hit after the given position, None if there is none.
        previous: The hit before it.
        position: Hits up to and including the place; None when no place was given.
    """

    count: int
    name_count: int
    names: list[MatchingName]
    hits: Int64
    following: int | None
    previous: int | None
    position: int | None


def codes_matching(trace: Trace, query: str) -> Int64:
    """Codes of the names a search means: ``=aten::add`` is exactly that name, any other text is
    contained in the name; whatever the case. Of a kernel any of its names will do.
    """
    exact = query.removeprefix("=").casefold()
    if not exact or not query.startswith("="):
        return codes_containing(trace, query)
    codes = codes_containing(trace, exact).tolist()
    return np.array(
        [code for code in codes if exact in (text.casefold() for text in _texts(trace, code))],
        np.int64,
    )


def codes_containing(trace: Trace, text: str) -> Int64:
    """Codes of the names of slices that contain ``text``, whatever the case; of kernels the short
    or the demangled name may contain it."""
    wanted = text.casefold()
    used = np.flatnonzero(np.bincount(_names(trace)[_names(trace) >= 0], minlength=1))
    matches = [
        code
        for code in used.tolist()
        if any(wanted in text.casefold() for text in _texts(trace, code))
    ]
    return np.array(matches, np.int64)


def _texts(trace: Trace, code: int) -> list[str]:
    """The names behind a code: as recorded, and the other two of a kernel."""
    names = kernel_names(trace)
    others = (names.shorts.get(code), names.demangleds.get(code))
    return [str(trace.strings[code]), *(text for text in others if text is not None)]


def find(
    trace: Trace, codes: Int64, *, from_slice: int | None = None, from_ns: int | None = None
) -> SearchHits:
    """The slices whose name has one of ``codes``.

    Args:
        trace: Where to look.
        codes: Codes of names.
        from_slice: The place to look around from: a slice (itself neither next nor previous).
        from_ns: Or a moment, in trace time; a slice that starts then is next.
    """
    names = _names(trace)
    wanted = np.zeros(len(trace.strings) + 1, np.bool_)
    wanted[codes] = True
    ids = np.flatnonzero(wanted[names])  # -1, no name, reads the last: never wanted
    counts = np.bincount(names[ids], minlength=1)
    frequent = (
        codes[np.argsort(-counts[codes], kind="stable")][:MAX_NAMES] if len(ids) else codes[:0]
    )
    start = trace.slices["start_ns"].to_numpy()[ids]
    order = np.argsort(start, kind="stable")
    ids, start = ids[order], start[order]
    others = kernel_names(trace)
    spread = np.arange(min(len(ids), MAX_HITS)) * len(ids) // max(1, min(len(ids), MAX_HITS))
    before, after = _around(trace, ids, start, from_slice, from_ns)
    return SearchHits(
        count=len(ids),
        name_count=len(codes),
        names=[
            MatchingName(
                name=trace.text(code) or "",
                code=code,
                count=int(counts[code]),
                short_name=others.short_text(code),
                demangled_name=others.demangled_text(code),
            )
            for code in frequent.tolist()
        ],
        hits=ids[spread],
        following=int(ids[after]) if after is not None and after < len(ids) else None,
        previous=int(ids[before - 1]) if before is not None and before > 0 else None,
        position=after,
    )


def _around(
    trace: Trace, ids: Int64, start: Int64, from_slice: int | None, from_ns: int | None
) -> tuple[int | None, int | None]:
    """How many hits lie before a place, and how many up to it, in order of (start, id)."""
    if from_slice is not None:
        time = trace.slices["start_ns"][from_slice]
        low, high = np.searchsorted(start, time, "left"), np.searchsorted(start, time, "right")
        before = int(low + np.searchsorted(ids[low:high], from_slice, "left"))
        at = int(before < high and ids[before] == from_slice)
        return before, before + at
    if from_ns is not None:
        before = int(np.searchsorted(start, from_ns, "left"))
        return before, before
    return None, None


def _names(trace: Trace) -> Int64:
    names: Int64 = trace.slices["name_code"].to_numpy()
    return names
