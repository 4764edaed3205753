"""The line between two clocks, and the pairs of kernels that agree with it.

From a first offset that holds for a few kernels the line (offset and drift) is fitted to the pairs
near it, and continued to more and more kernels, until it covers both recordings.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.recording.other_recording.kernels import Kernels
from torch_tb_profiler.trace.clock import TrackClock
from torch_tb_profiler.trace.columns import Float64, Int64

TOLERANCE_NS = 10_000
"""How far partners may be apart on the common clock: recorders convert times of a device's clock
to those of the host, with an error of some microseconds."""

DRIFT_PPM = 200.0
"""More than clocks of one machine drift apart."""

SLACK_NS, SLACK = 2_000, 0.1
"""Durations of one kernel in two recordings differ at most by so much, or by this share."""

MIN_PAIRS = 8
"""Fewer pairs give no line."""

MIN_DRIFT_NS = 1000.0
"""Less over the whole common time is no drift."""

PART_KERNELS = 1024
GROWTH = 4
"""By how much each part on which a line is fitted is larger than the last."""


class ClockLine(Struct, frozen=True):
    """Turns times of the second recording into times of the first.

    Attributes:
        offset_ns: What to add at the time ``reference_ns``.
        drift_ppm: How much faster the second clock runs, in parts per million.
        reference_ns: A time of the second recording.
    """

    offset_ns: int
    drift_ppm: float
    reference_ns: int

    def __call__(self, time_ns: Int64) -> Int64:
        """Times on the clock of the first recording."""
        drift = np.rint((time_ns - self.reference_ns) * (-self.drift_ppm * 1e-6)).astype(np.int64)
        converted: Int64 = time_ns + self.offset_ns + drift
        return converted

    @property
    def inverse(self) -> ClockLine:
        """From the first to the second, up to the square of the drift."""
        return ClockLine(-self.offset_ns, -self.drift_ppm, self.reference_ns + self.offset_ns)

    def moved(self, shift_ns: int) -> ClockLine:
        """The line whose results are later by ``shift_ns``."""
        return ClockLine(self.offset_ns + shift_ns, self.drift_ppm, self.reference_ns)


class KernelPairs(Struct, frozen=True):
    """Kernels of both recordings that agree with a line.

    Attributes:
        first: Rows of the first recording, ascending.
        second: Their partners.
        line: The line.
        residual_ns: Median distance of partners.
        common: Kernels of the smaller recording in the time that both cover.
    """

    first: Int64
    second: Int64
    line: ClockLine
    residual_ns: float
    common: int

    @property
    def share(self) -> float:
        """Share of the common kernels that have a partner."""
        return len(self.first) / max(self.common, 1)


class Sides:
    """Two recordings whose kernels are paired by name and time."""

    def __init__(self, a: Kernels, b: Kernels, code_a: Int64, code_b: Int64) -> None:
        """Index the kernels.

        Args:
            a: The first recording.
            b: The second.
            code_a: Code of the name per kernel of the first.
            code_b: Likewise of the second.
        """
        self.a, self.b = a, b
        self.code_a, self.code_b = code_a, code_b
        self._index_a, self._index_b = _Index(code_a, a.start_ns), _Index(code_b, b.start_ns)

    def best_near(self, offset_ns: int, within_ns: int, part: slice) -> KernelPairs:
        """The best line for a part of the second recording near an offset."""
        times = self.b.start_ns[part]
        reference = int(times[len(times) // 2])
        tolerance = TOLERANCE_NS + int(np.ptp(times) * DRIFT_PPM * 1e-6 / 2)
        shifts = np.arange(-within_ns, within_ns + tolerance, tolerance)
        near = [
            np.count_nonzero(self._distance(times + offset_ns + shift, part) <= tolerance)
            for shift in shifts
        ]
        line = ClockLine(offset_ns + int(shifts[int(np.argmax(near))]), 0.0, reference)
        pairs = self.pairs(line, part, tolerance)
        for _ in range(3):
            pairs = self._refined(pairs, part, tolerance)
        return pairs

    def continued(self, pairs: KernelPairs, part: slice) -> KernelPairs:
        """The line of a part, continued to the whole recordings."""
        count = len(self.b.start_ns)
        while part.start > 0 or part.stop < count:
            if len(pairs.first) < MIN_PAIRS:
                return pairs
            more = (part.stop - part.start) * (GROWTH - 1) // 2 + 1
            part = slice(max(0, part.start - more), min(count, part.stop + more))
            pairs = self._refined(self.pairs(pairs.line, part), part)
        return self._refined(self._refined(pairs, part), part)

    def _refined(
        self, pairs: KernelPairs, part: slice, tolerance_ns: int = TOLERANCE_NS
    ) -> KernelPairs:
        """The pairs near the line through the pairs."""
        if len(pairs.first) < MIN_PAIRS:
            return pairs
        line, seconds = pairs.line, self.b.start_ns[pairs.second]
        x = (seconds - line.reference_ns).astype(np.float64)
        y = (self.a.start_ns[pairs.first] - seconds - line.offset_ns).astype(np.float64)
        slope = _slope(x, y)
        level = float(np.median(y - slope * x))
        residual = float(np.median(np.abs(y - slope * x - level)))
        if abs(slope) * np.ptp(x) <= max(2 * residual, MIN_DRIFT_NS):
            slope, level = 0.0, float(np.median(y))
        refined = ClockLine(line.offset_ns + round(level), -slope * 1e6 + 0.0, line.reference_ns)
        return self.pairs(refined, part, tolerance_ns)

    def _distance(self, times_on_a: Int64, part: slice) -> Int64:
        return self._index_a.nearest(self.code_b[part], times_on_a)[1]

    def pairs(
        self, line: ClockLine, part: slice = slice(None), tolerance_ns: int = TOLERANCE_NS
    ) -> KernelPairs:
        """Kernels that are nearest to each other among those of one name, within a tolerance."""
        a, b = self.a, self.b
        on_a, codes = line(b.start_ns[part]), self.code_b[part]
        low = max(a.start_ns[0], on_a[0]) - tolerance_ns
        high = min(a.start_ns[-1], on_a[-1]) + tolerance_ns
        is_common = (on_a >= low) & (on_a <= high)
        common_a = np.searchsorted(a.start_ns, high, "right") - np.searchsorted(a.start_ns, low)
        common = min(int(common_a), int(np.count_nonzero(is_common)))
        first, apart = self._index_a.nearest(codes, on_a)
        second = np.arange(len(b.start_ns))[part]
        is_pair = is_common & (apart <= tolerance_ns)
        first, second = first[is_pair], second[is_pair]
        back, _ = self._index_b.nearest(self.code_a[first], line.inverse(a.start_ns[first]))
        differs = np.abs(a.dur_ns[first] - b.dur_ns[second])
        is_pair = (back == second) & (differs <= np.maximum(SLACK_NS, SLACK * a.dur_ns[first]))
        first, second = first[is_pair], second[is_pair]
        order = np.argsort(first, kind="stable")
        first, second = first[order], second[order]
        distance = np.abs(a.start_ns[first] - line(b.start_ns[second]))
        residual = float(np.median(distance)) if len(distance) else 0.0
        return KernelPairs(first, second, line, residual, common)


class _Index:
    """Finds kernels by name and time."""

    def __init__(self, code: Int64, time_ns: Int64) -> None:
        self._clock = TrackClock(time_ns, int(code.max()) + 1)
        keys = self._clock.keys(code, time_ns)
        self._order = np.argsort(keys, kind="stable")
        self._keys = keys[self._order]
        self._code, self._time = code, time_ns

    def nearest(self, code: Int64, time_ns: Int64) -> tuple[Int64, Int64]:
        """The row nearest in time of those with a code, -1 for none, and how far it is."""
        position = np.searchsorted(self._keys, self._clock.keys(code, time_ns))
        best = np.full(len(code), -1, np.int64)
        distance = np.full(len(code), np.iinfo(np.int64).max)
        for step in (-1, 0, 1):
            row = self._order[np.clip(position + step, 0, len(self._order) - 1)]
            apart = np.abs(self._time[row] - time_ns)
            is_closer = (self._code[row] == code) & (apart < distance)
            best[is_closer], distance[is_closer] = row[is_closer], apart[is_closer]
        return best, distance


def _slope(x: Float64, y: Float64) -> float:
    """Median of the slopes between each point of the first half and one of the second."""
    order = np.argsort(x, kind="stable")
    x, y = x[order], y[order]
    half = len(x) // 2
    run, rise = x[-half:] - x[:half], y[-half:] - y[:half]
    is_apart = run > 0
    return float(np.median(rise[is_apart] / run[is_apart])) if is_apart.any() else 0.0
