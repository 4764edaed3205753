"""The moment at which somebody wants to look at memory (``at_us``)."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.trace.columns import EPOCH_NS
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US

_FAR_NS = 2**62
_FAR_DIGITS = 20
_SHOWN = 40


def chosen_moment(trace: Trace, selection: Selection) -> int | None:
    """The moment of ``at_us`` in trace time (ns), None where none is chosen.

    Raises:
        SelectionError: it is no number, or one beyond all times.
    """
    if selection.at_us is None or not selection.at_us.strip():
        return None
    try:
        # Exact: a float of µs since the epoch holds quarters of a µs only.
        time_us = Decimal(selection.at_us.strip())
    except InvalidOperation:
        time_us = Decimal("nan")
    # Asked first: an integer of 1e999999999 would fill the memory.
    is_near = time_us.is_finite() and time_us.adjusted() <= _FAR_DIGITS
    time_ns = int((time_us * NS_PER_US).to_integral_value()) if is_near else _FAR_NS
    if abs(time_ns) >= _FAR_NS:
        text = selection.at_us[:_SHOWN]
        raise SelectionError(f"at_us: {text!r} is no time in µs, such as 1250.5")
    # As with time ranges: what can only count from the epoch does.
    return time_ns if time_ns <= EPOCH_NS else time_ns - trace.meta.base_ns
