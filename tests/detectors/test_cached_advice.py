"""Advice is kept with what it is about, and is that of no other selection and no other run."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from tests.detectors.scenes import one_step
from tests.helpers.traces import annotation
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.detectors import detect_across_workers, run_detectors
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import Note

ALL = Selection()
THREADS = 16


def worker(late_us: float) -> Trace:
    """In an all_reduce that ends at 500 for all."""
    return one_step([annotation("gloo:all_reduce", 500 - late_us, late_us)])


def delay_us(notes: tuple[Note, ...]) -> list[float]:
    return [
        float(str(note.evidence["estimated_gain_us_per_step"]))
        for note in notes
        if note.code == "straggler"
    ]


def test_of_a_run_as_long_as_its_traces_are_the_same() -> None:
    first, second, other = worker(300), worker(100), worker(200)
    assert delay_us(detect_across_workers({"a": first, "b": second}, ALL)) == [200]
    assert delay_us(detect_across_workers({"a": first, "b": second}, ALL)) == [200]
    assert delay_us(detect_across_workers({"a": first, "b": other}, ALL)) == [100]
    assert delay_us(detect_across_workers({"a": first, "b": second}, ALL)) == [200]
    assert delay_us(detect_across_workers({"b": first, "a": second}, ALL)) == [200]
    assert detect_across_workers({"a": first}, ALL) == ()


def test_of_a_part_it_is_not_that_of_all() -> None:
    traces = {"a": worker(300), "b": worker(100)}
    assert detect_across_workers(traces, ALL)
    assert detect_across_workers(traces, Selection(end_ns=traces["a"].meta.start_ns)) == ()
    whole = run_detectors(traces["a"], ALL)
    nothing = run_detectors(traces["a"], Selection(end_ns=traces["a"].meta.start_ns))
    assert nothing.checks.frame["outcome"].to_list() != whole.checks.frame["outcome"].to_list()


def test_threads_that_begin_at_once_get_the_same() -> None:
    first, second = worker(300), worker(100)
    barrier = Barrier(THREADS)

    def answer(_number: int) -> list[float]:
        barrier.wait()
        return delay_us(detect_across_workers({"a": first, "b": second}, ALL))

    with ThreadPoolExecutor(THREADS) as threads:
        assert list(threads.map(answer, range(THREADS))) == [[200]] * THREADS
