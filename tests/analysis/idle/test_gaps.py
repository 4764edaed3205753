"""Idle time directly before device work, against a look at every moment.

Cases: two streams of a device, work that starts together, nothing before the first, devices apart;
random work.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.traces import kernel, memcpy, trace
from torch_tb_profiler.analysis.idle.gaps import gaps_before


def gaps(*events: dict[str, object]) -> list[int]:
    return list(gaps_before(trace(events)).tolist())


def test_idle_time_before_work_of_a_device() -> None:
    assert gaps(
        kernel("a", 10, 10, stream=7),
        kernel("b", 15, 15, stream=8),
        kernel("c", 40, 5, stream=7),
        memcpy(50, 5, stream=7),
        kernel("d", 55, 5, stream=7),
        kernel("other", 100, 5, device=1),
    ) == [0, 10_000, 5_000, 0, 0, 0]


def test_of_what_starts_together_the_first_has_the_gap() -> None:
    assert sorted(gaps(kernel("a", 0, 5), kernel("b", 9, 5), kernel("c", 9, 5, stream=8))) == [
        0,
        0,
        4000,
    ]


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9), st.integers(0, 1)), max_size=9))
def test_every_idle_moment_counts_once(work: list[tuple[int, int, int]]) -> None:
    events = [
        kernel("k", start / 1000, length / 1000, device=device, stream=7 + number)
        for number, (start, length, device) in enumerate(work)
    ]
    idle = 0
    for device in (0, 1):
        own = [(start, start + length) for start, length, of in work if of == device]
        if own:
            idle += sum(
                not any(start <= moment < end for start, end in own)
                for moment in range(min(own)[0], max(start for start, _ in own))
            )
    assert sum(gaps(*events)) == idle
