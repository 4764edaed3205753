"""Savings of shorter device work, by hand and against simulated programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.traces import Event, call, kernel, step, trace
from tests.simulation.machine import run
from tests.simulation.program import Launch, Operation, Synchronize, Work, steps
from tests.simulation.removals import faster_kernels
from torch_tb_profiler.analysis.idle.step_savings import _alone, estimate_saved_ns
from torch_tb_profiler.trace.model import Trace


def launched(at: float, start: float, dur: float, corr: int, **where: Any) -> list[Event]:
    """A kernel whose launch takes 5 µs."""
    launch = call("cudaLaunchKernel", at, 5, corr=corr)
    return [launch, kernel("k", start, dur, corr=corr, **where)]


def saved_us(of: Trace, *shorter: float) -> float | None:
    """What it brings to make the device work, in order of time, so much shorter."""
    saved = np.array([1000 * us for us in shorter], np.int64)
    saved_ns = estimate_saved_ns(of, of.device_work["slice"].to_numpy(), saved)
    return None if saved_ns is None else saved_ns / 1000


def wait(at: float, until: float) -> Event:
    return call("cudaDeviceSynchronize", at, until - at)


def test_what_the_host_waits_for_comes_earlier() -> None:
    of = trace([step(1, 0, 300), *launched(0, 5, 100, 1), wait(10, 106)])
    assert saved_us(of, 40) == 40
    assert saved_us(of, 99) == 95  # the host began to wait at 10


def test_nothing_is_saved_where_the_host_is_late() -> None:
    of = trace([step(1, 0, 900), *launched(0, 5, 100, 1), *launched(300, 305, 100, 2)])
    assert saved_us(of, 50, 50) == 0


def test_a_later_launch_limits_what_an_earlier_kernel_brings() -> None:
    """The second kernel was launched 20 µs before the first one ended."""
    events = [*launched(0, 5, 100, 1), *launched(80, 105, 100, 2), wait(90, 206)]
    of = trace([step(1, 0, 300), *events])
    assert saved_us(of, 60, 0) == 20
    assert saved_us(of, 60, 30) == 50
    assert saved_us(of, 0, 30) == 30


def test_after_a_wait_everything_comes_earlier_and_counts_anew() -> None:
    events = [*launched(0, 5, 100, 1), wait(10, 106), *launched(110, 115, 100, 2), wait(120, 216)]
    assert saved_us(trace([step(1, 0, 300), *events]), 40, 30) == 70


def test_the_last_work_counts_as_long_as_it_outlasts_the_host() -> None:
    of = trace([step(1, 0, 90), *launched(0, 5, 100, 1)])
    assert saved_us(of, 60) == 15


def test_overlapped_work_saves_only_where_it_is_alone() -> None:
    """The first 60 µs are covered by another stream's kernel, which gets no shorter."""
    overlapping = launched(6, 11, 60, 2, stream=9)
    of = trace([step(1, 0, 300), *launched(0, 5, 100, 1), *overlapping, wait(12, 106)])
    assert saved_us(of, 80, 0) == 40


def test_without_launches_the_saving_is_unknown() -> None:
    assert saved_us(trace([step(1, 0, 300), kernel("k", 10, 100)]), 50) is None
    assert saved_us(trace([step(1, 0, 300)])) is None


PIECES: dict[str, tuple[Operation, ...]] = {
    "long": (Launch("long", 200.0),),
    "other": (Launch("other", 90.0),),
    "host": (Work(150.0),),
    "more host": (Work(400.0),),
    "wait": (Synchronize(),),
}


@pytest.mark.parametrize("factor", [0.0, 0.5])
@given(names=st.lists(st.sampled_from(sorted(PIECES)), min_size=1, max_size=12))
def test_as_much_is_saved_as_the_same_program_is_shorter(factor: float, names: list[str]) -> None:
    """Within the latency of launches."""
    program = steps(1, *(it for name in names for it in PIECES[name]))
    of, shorter = run(program), run(faster_kernels(lambda name: name == "long", factor)(program))
    recorded = trace(of.events)
    work = recorded.device_work
    saved = [
        dur * (1 - factor) if recorded.text(code) == "long" else 0
        for dur, code in work.select("dur_ns", "name_code").iter_rows()
    ]
    saved_ns = estimate_saved_ns(recorded, work["slice"].to_numpy(), np.array(saved, np.int64))
    if saved_ns is not None:
        assert saved_ns / 1000 == pytest.approx(
            of.length_us - shorter.length_us, abs=5 * len(names)
        )


# Time alone, against a scan of every microsecond.

WORK = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 12), st.integers(0, 3), st.booleans()),
    min_size=1,
    max_size=8,
)


@given(WORK)
def test_alone_is_what_no_other_work_overlaps(parts: list[tuple[int, int, int, bool]]) -> None:
    of = trace([kernel("k", at, dur, stream=stream) for at, dur, stream, _ in parts])
    work = of.device_work.select("start_ns", "dur_ns").rows()
    by_time = {(at * 1000, dur * 1000): chosen for at, dur, _, chosen in parts}
    chosen = [by_time[one] for one in work]  # of two alike the last one decides for both
    expected = [0] * len(work)
    for row, (start, dur) in enumerate(work):
        for moment in range(start, start + dur, 1000):
            is_overlapped = any(
                other <= moment < other + length and not chosen[index]
                for index, (other, length) in enumerate(work)
            )
            expected[row] += 1000 * (chosen[row] and not is_overlapped)
    assert _alone(of, np.array(chosen)).tolist() == expected


def test_a_wait_that_leaves_work_in_the_queue_passes_on_what_the_device_is_ahead() -> None:
    """The host waits 5 µs for the first of three queued kernels, and 98 for the last one. Half of
    the first is 50 µs, of which its own wait shows 5."""
    events = [*launched(0, 10, 100, 1), *launched(6, 110, 100, 2), *launched(12, 210, 100, 3)]
    of = trace([step(1, 0, 400), *events, wait(105, 111), wait(212, 311)])
    assert saved_us(of, 50, 0, 0) == 50
    assert saved_us(of, 0, 50, 0) == 50
    # Without the first wait the host comes to the second one at 207, and has nothing to wait for.
    assert saved_us(of, 99, 99, 99) == 103
