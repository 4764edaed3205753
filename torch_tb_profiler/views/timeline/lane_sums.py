"""The names with most self time on some lanes in a range."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import factorize
from torch_tb_profiler.analysis.recording.kernel_names import kernel_names
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.units import exact_microseconds
from torch_tb_profiler.views.timeline.index import Timeline
from torch_tb_profiler.views.timeline.range_parts import parts_in_range


class NameTime(Struct, frozen=True):
    """One name in a range; ``self_us`` is what lies in the range, without children.

    Nested slices count twice in ``total_us``, their whole time. ``short_name`` where the name is
    that of a kernel, ``demangled_name`` where it is mangled.
    """

    name: str
    count: int
    self_us: float
    total_us: float
    short_name: str | None = None
    demangled_name: str | None = None


def top_names(
    timeline: Timeline, chosen: Int64, start_ns: int, end_ns: int, limit: int
) -> list[NameTime]:
    """The names of the slices of the lanes ``chosen`` in a range, from the origin, that have most
    self time (:mod:`.range_parts`)."""
    parts = list(parts_in_range(timeline, chosen, start_ns, end_ns))
    if not parts:
        return []
    trace = timeline.trace
    code = trace.slices["name_code"].to_numpy()
    names, where = factorize(np.concatenate([code[part.slice] for part in parts]))
    self_ns = np.bincount(where, np.concatenate([part.self_ns for part in parts]))
    total_ns = np.bincount(where, np.concatenate([part.total_ns for part in parts]))
    count = np.bincount(where)
    others = kernel_names(trace)
    return [
        NameTime(
            trace.text(int(names[row])) or "",
            int(count[row]),
            exact_microseconds(int(self_ns[row])),
            exact_microseconds(int(total_ns[row])),
            others.short_text(int(names[row])),
            others.demangled_text(int(names[row])),
        )
        for row in np.argsort(-self_ns, kind="stable")[:limit].tolist()
    ]
