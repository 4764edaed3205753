"""The longest gaps, against sorting all of them."""

from __future__ import annotations

from tests.helpers.traces import Event, kernel, step, trace
from torch_tb_profiler.analysis.idle.attribution import gpu_idle
from torch_tb_profiler.analysis.idle.long_gaps import MAX_GAPS, long_gaps
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.windows import step_windows


def test_the_longest_of_all_gpus_are_chosen() -> None:
    """GPU 1 has gaps of 1 µs, GPU 0 of 2 to 251 µs."""
    events: list[Event] = [kernel("k", 2 * number, 1, device=1) for number in range(100)]
    start, lengths = 0, range(2, 252)
    for length in lengths:
        events.append(kernel("k", start, 1))
        start += 1 + length
    of = trace(
        [*events, kernel("k", start, 1), kernel("k", start, 1, device=1), step(1, 0, start + 1)]
    )
    chosen = long_gaps(gpu_idle(of), step_windows(of, Selection()))
    every = sorted([*lengths, start - 199], reverse=True)  # GPU 1 has one long gap at its end
    listed = [int(ns) // 1000 for gaps in chosen.values() for ns in gaps.pieces.length_ns]
    assert sorted(listed, reverse=True) == every[:MAX_GAPS]
    assert [len(gaps.causes) for gaps in chosen.values()] == [MAX_GAPS - 1, 1]
    assert all((gaps.explained_ns <= gaps.pieces.length_ns).all() for gaps in chosen.values())
