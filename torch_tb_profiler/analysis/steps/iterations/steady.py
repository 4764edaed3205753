"""A range of iterations that varies clearly less than what is selected.

Definitions: ``docs/metrics.md#steady-range``.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.iterations.windows import iterations
from torch_tb_profiler.knowledge.iterations import iterations_file
from torch_tb_profiler.trace.columns import Bools, Float64
from torch_tb_profiler.trace.model import Trace

EVERY_LENGTH = 200
"""Up to so many iterations ranges of every length are looked at, of more those of this many
lengths."""


class Steadiness(Struct, frozen=True):
    """How much the selected iterations vary, and a range of them that varies clearly less.

    Attributes:
        variation: Coefficient of variation (standard deviation ÷ mean) of the selected ones that
            were recorded from end to end; None of fewer than two.
        threshold: From which on they vary much.
        first: Name of the first iteration of the range; None where they do not vary much, or no
            range varies clearly less.
        last: Name of its last.
        iterations: How many it has.
        steady_variation: Its coefficient of variation.
        most: What that may be at most.
    """

    variation: float | None
    threshold: float
    first: str | None = None
    last: str | None = None
    iterations: int = 0
    steady_variation: float | None = None
    most: float | None = None


def steadiness(trace: Trace, selection: Selection) -> Steadiness:
    """How steady the iterations of ``selection`` are.

    The range is the longest one between the first and the last selected iteration that does not
    vary much itself and varies at most ``steady-of-varies`` of what they do, of equally long ones
    the steadiest; it has at least ``steady-least`` iterations and ``steady-share`` of them
    (``knowledge/iterations.toml``).

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    rules = iterations_file()
    of_selection = iterations(trace, selection)
    windows = of_selection.windows
    lengths = (windows.end_ns - windows.start_ns).astype(np.float64)
    chosen = of_selection.lengths_ns.astype(np.float64)
    if len(chosen) < 2 or chosen.mean() <= 0:
        return Steadiness(None, rules.varies)
    variation = float(chosen.std() / chosen.mean())
    if variation < rules.varies:
        return Steadiness(variation, rules.varies)
    rows = np.flatnonzero(of_selection.selected)
    first, stop = int(rows[0]), int(rows[-1]) + 1
    least = max(rules.steady_least, int(np.ceil(rules.steady_share * (stop - first))))
    span = slice(first, stop)
    most = min(rules.varies, rules.steady_of_varies * variation)
    steady = _longest(lengths[span] / chosen.mean(), windows.whole[span], least, most)
    if steady is None:
        return Steadiness(variation, rules.varies)
    start, count, of_range = steady
    return Steadiness(
        variation,
        rules.varies,
        windows.names[first + start],
        windows.names[first + start + count - 1],
        count,
        of_range,
        most,
    )


def _longest(
    lengths: Float64, whole: Bools, least: int, most: float
) -> tuple[int, int, float] | None:
    """Start, number and variation of the longest run of ``whole`` elements that varies at most
    ``most``, of equally long ones the steadiest; None without one of ``least`` elements."""
    count = len(lengths)
    sums, squares, parts = (
        np.append(0, np.cumsum(values)) for values in (lengths, lengths**2, ~whole)
    )
    if least >= count:
        return None
    sizes = np.arange(least, count)
    if len(sizes) > EVERY_LENGTH:
        sizes = distinct_values(np.geomspace(least, count - 1, EVERY_LENGTH).astype(np.int64))
    for size in sizes[::-1].tolist():
        mean = (sums[size:] - sums[:-size]) / size
        variance = np.maximum((squares[size:] - squares[:-size]) / size - mean**2, 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            varies = np.sqrt(variance) / mean
        varies[(parts[size:] > parts[:-size]) | (mean <= 0)] = np.inf
        start = int(varies.argmin())
        if varies[start] <= most:
            steady = lengths[start : start + size]
            return start, size, float(steady.std() / steady.mean())
    return None
