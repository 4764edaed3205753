"""Which kernel of one recording is which kernel of another: two profilers that watched one process.

Their clocks differ by an unknown offset and drift. A kernel has the same name and nearly the same
duration in both, and the order of kernels is the same. Parts of the second recording are looked for
in the first by their names (:mod:`.offsets`), and the line between the clocks is continued from the
best place to the whole (:mod:`.clock_line`).

What decides that both are of one run, and not of two runs of one program: with the clocks shifted
by any other time far fewer kernels have a partner, and the durations of partners are nearer to each
other than those of any two kernels of a name.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.recording.other_recording.clock_line import (
    MIN_PAIRS,
    PART_KERNELS,
    TOLERANCE_NS,
    ClockLine,
    KernelPairs,
    Sides,
)
from torch_tb_profiler.analysis.recording.other_recording.kernels import Kernels, name_codes
from torch_tb_profiler.analysis.recording.other_recording.offsets import candidate_offsets
from torch_tb_profiler.trace.columns import Int64

MIN_MATCHED_PCT = 50.0
"""Share of the kernels in the common time that must have a partner."""

MIN_MATCHED_ALONE_PCT = 90.0
"""Likewise where durations say nothing."""

MAX_CHANCE_SHARE = 0.7
"""With shifted clocks at most this share of the pairs may agree."""

SHIFTS_NS = (-7_300_000, -1_900_000, -523_000, -97_000, 113_000, 611_000, 2_300_000, 8_900_000)
"""Offsets by which the share of chance is measured, of steps and of neighbouring kernels."""

MAX_NEARNESS = 0.7
"""Durations of pairs differ at most by so much of what durations of two kernels of a name do."""

MIN_RESOLUTION_NS = 64
"""Durations that vary less say nothing: device clocks count in steps of up to 32 ns."""

MIN_VARYING = 40
"""Fewer durations say nothing."""

PART_POSITIONS = (0.5, 0.15, 0.85, 0.0, 1.0)
"""Where the parts of the second recording lie that are looked for in the first, one after the other
until one is there: the first may have begun later, or ended earlier."""

MAX_CONTINUED = 3
"""Offsets of a part that are continued to the whole."""

Reason = Literal["few_kernels", "no_common_names", "not_one_run", "ambiguous"]


_REASONS: dict[Reason, str] = {
    "few_kernels": f"one of the recordings has fewer than {MIN_PAIRS} kernels",
    "no_common_names": "the kernels have other names",
    "not_one_run": "the kernels match in {matched_pct:.0f} % by name and order, as those of "
    "another run may",
    "ambiguous": "the kernels match equally well at several times",
}


class KernelMatch(Struct, frozen=True):
    """The kernels that two recordings have in common.

    Attributes:
        first: Rows of the first recording, ascending.
        second: The row of the second one that is the same kernel.
        line: Turns times of the second recording into times of the first.
        residual_ns: Median distance of partners on the common clock.
        common: Kernels of the smaller recording in the time that both cover.
    """

    first: Int64
    second: Int64
    line: ClockLine
    residual_ns: float
    common: int

    @property
    def text(self) -> str:
        """How well they match, for people."""
        line = self.line
        drift = f", drift {line.drift_ppm:+.1f} ppm" if line.drift_ppm else ""
        return (
            f"{len(self.first):,} of {self.common:,} kernels in the common time match by name and "
            f"order; clock offset {line.offset_ns / 1e3:+,.1f} us{drift}; matching kernels are "
            f"{self.residual_ns / 1e3:.1f} us apart (median)"
        )


class MatchFailure(Struct, frozen=True):
    """Why two recordings are not of one run.

    Attributes:
        reason: The kind of reason.
        matched_pct: Share of kernels that have a partner at best.
    """

    reason: Reason
    matched_pct: float

    @property
    def text(self) -> str:
        """The reason, for people."""
        return _REASONS[self.reason].format(matched_pct=self.matched_pct)


def match_kernels(first: Kernels, second: Kernels) -> KernelMatch | MatchFailure:
    """The kernels that both recordings have, and the clock of the second against the first."""
    if min(len(first.names), len(second.names)) < MIN_PAIRS:
        return MatchFailure("few_kernels", 0.0)
    codes = name_codes(first, second)
    if codes is None:
        return MatchFailure("no_common_names", 0.0)
    sides = Sides(first, second, *codes)
    best, others = _best(sides)
    if len(best.first) < MIN_PAIRS or best.share * 100 < MIN_MATCHED_PCT:
        return MatchFailure("not_one_run", best.share * 100)
    if not (_exceeds_chance(sides, best) and _durations_agree(sides, best)):
        return MatchFailure("not_one_run", best.share * 100)
    if any(len(each.first) == len(best.first) and _is_elsewhere(each, best) for each in others):
        return MatchFailure("ambiguous", best.share * 100)
    return KernelMatch(best.first, best.second, best.line, best.residual_ns, best.common)


def _best(sides: Sides) -> tuple[KernelPairs, list[KernelPairs]]:
    """The line with most pairs, and others of the same part."""
    count = len(sides.b.start_ns)
    length = min(PART_KERNELS, count)
    most: list[KernelPairs] = []
    for position in PART_POSITIONS:
        begin = round(position * (count - length))
        part = slice(begin, begin + length)
        offsets, within = candidate_offsets(
            sides.code_a, sides.a.start_ns, sides.code_b[part], sides.b.start_ns[part]
        )
        near = [sides.best_near(offset, within, part) for offset in offsets]
        near.sort(key=_rank)
        whole = sorted((sides.continued(each, part) for each in near[:MAX_CONTINUED]), key=_rank)
        most = min(most or whole, whole, key=lambda each: _rank(each[0]))
        if most[0].share * 100 >= MIN_MATCHED_PCT or length == count:
            break
    return most[0], most[1:]


def _rank(pairs: KernelPairs) -> tuple[int, float]:
    return -len(pairs.first), pairs.residual_ns


def _is_elsewhere(pairs: KernelPairs, other: KernelPairs) -> bool:
    """Whether two lines differ by more than partners may."""
    times = np.array([other.line.reference_ns])
    return bool(abs(pairs.line(times) - other.line(times))[0] > TOLERANCE_NS)


def _exceeds_chance(sides: Sides, best: KernelPairs) -> bool:
    """Whether shifted clocks give far fewer pairs."""
    shifted = [sides.pairs(best.line.moved(shift)) for shift in SHIFTS_NS]
    shares = [each.share for each in shifted if each.common >= MIN_PAIRS]
    return not shares or float(np.median(shares)) <= MAX_CHANCE_SHARE * best.share


def _durations_agree(sides: Sides, best: KernelPairs) -> bool:
    """Whether the durations of partners are nearer to each other than those of any two kernels of
    the name; where durations do not vary, whether nearly all kernels have a partner."""
    code = sides.code_a[best.first]
    order = np.argsort(code, kind="stable")
    is_same = code[order][1:] == code[order][:-1]
    of_a, of_b = sides.a.dur_ns[best.first][order], sides.b.dur_ns[best.second][order]
    by_chance = np.abs(of_a[1:] - of_b[:-1])[is_same]
    if len(by_chance) >= MIN_VARYING:
        usual = float(np.median(by_chance))
        if usual > max(_resolution(of_a), _resolution(of_b)):
            return float(np.median(np.abs(of_a - of_b))) <= MAX_NEARNESS * usual
    return best.share * 100 >= MIN_MATCHED_ALONE_PCT


def _resolution(dur_ns: Int64) -> int:
    """The resolution of a recorder's durations, at least that of device clocks."""
    steps = np.diff(np.unique(dur_ns))
    return max(int(steps.min(initial=np.iinfo(np.int64).max)), MIN_RESOLUTION_NS)
