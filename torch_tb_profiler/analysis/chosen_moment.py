"""The moment at which somebody wants to look at memory (``at_us``)."""

from __future__ import annotations

import math

from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.trace.columns import EPOCH_NS
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US

_FAR_NS = 2**62
_SHOWN = 40


def chosen_moment(trace: Trace, selection: Selection) -> int | None:
    """The moment of ``at_us`` in trace time (ns), None where none is chosen.

    Raises:
        SelectionError: it is no number.
    """
    if selection.at_us is None or not selection.at_us.strip():
        return None
    try:
        time_us = float(selection.at_us)
    except ValueError:
        time_us = math.nan
    if not math.isfinite(time_us) or abs(time_us) * NS_PER_US > _FAR_NS:
        text = selection.at_us[:_SHOWN]
        raise SelectionError(f"at_us: {text!r} is no time in µs, such as 1250.5")
    time_ns = round(time_us * NS_PER_US)
    # As with time ranges: what can only count from the epoch does.
    return time_ns if time_ns <= EPOCH_NS else time_ns - trace.meta.base_ns
